"""The paper's evaluation, on the public package: one file per table or figure, named as in the paper."""
