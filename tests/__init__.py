"""The tests, one folder per room of the house."""
