"""One operator, one file; what an operator is: `latecomer.operators.base`."""
