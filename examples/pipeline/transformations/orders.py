"""Orders in time order and late orders, as two tables of a declarative pipeline.

Inside the functions of a pipeline Spark must not be asked for the columns of a DataFrame, so they
are declared. The flow of `packed` runs the stream; those of the two tables only unpack its rows.

Usage: ORDERS=/path/of/json/files spark-pipelines run --spec examples/pipeline/spark-pipeline.yml
"""

import os

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

import latecomer as lc

COLUMNS = "time timestamp, shop string, price double"
spark = SparkSession.active()


def orders() -> lc.OrderedStream:
    arriving = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
    stream = lc.disordered(
        arriving.json(os.environ["ORDERS"]), time="time", key="shop", schema=COLUMNS, streaming=True
    )
    return stream.where("price > 0").sort(wait="10 minutes")


@dp.table
def packed() -> DataFrame:
    return orders().packed_df()


@dp.table
def ready() -> DataFrame:
    return orders().to_df(packed=spark.readStream.table("packed"))


@dp.table
def late() -> DataFrame:
    return orders().late_df(packed=spark.readStream.table("packed"))
