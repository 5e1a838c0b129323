"""Objects of other libraries as mechanisms with their own claim; one module a library, imported only by name."""
