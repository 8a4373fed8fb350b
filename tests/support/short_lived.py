"""How to start a JVM that does not live long: compile quickly rather than well."""

TOO_SLOW = "to connect back"
"""Part of what Spark says if a Python process has not connected after ten seconds: a constant."""
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

CONFIG = {
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
}
