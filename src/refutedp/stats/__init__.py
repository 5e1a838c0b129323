"""Counts to p-values and certified bounds; every test here is for an event and direction fixed beforehand."""
