"""A package, for diffprivlib installs another `tests`, and worker processes must find this one."""
