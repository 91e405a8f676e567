"""Machinery shared by formats whose examples are records with named values: tables and JSON lines."""
