"""The paper's evaluation: one file for each table, figure and theorem."""
