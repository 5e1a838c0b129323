"""Tasks on cores, Dask or Ray."""
