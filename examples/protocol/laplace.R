# A Laplace histogram for RefuteDP's command protocol, in R with the package jsonlite.
#
#   refutedp check --command "Rscript laplace.R" --epsilon 0.5 --adjacency one-differs
#   refutedp check --command "Rscript laplace.R --bug" --epsilon 0.5 --adjacency one-differs

if (!requireNamespace("jsonlite", quietly = TRUE)) {
  message("laplace.R needs the R package jsonlite: install.packages(\"jsonlite\")")
  quit(status = 1)
}

BATCH <- 100
bug <- "--bug" %in% commandArgs(trailingOnly = TRUE)

# set.seed() takes 31 bits; the other 22 of the seed become a word of the generator's state, for two requests with the
# same state would be the same runs twice.
seed_generator <- function(seed) {
  RNGkind("L'Ecuyer-CMRG")
  set.seed(seed %% 2^31)
  state <- get(".Random.seed", envir = globalenv())
  state[2] <- as.integer(seed %/% 2^31)
  assign(".Random.seed", state, envir = globalenv())
  runif(20) # these still look like those of a similar seed
}

# The last digits of a float tell which numbers were added: round them away.
on_grid <- function(value) round(value * 1024) / 1024

# A number of a request: plain, {"$float": "nan"} or {"$int": "..."}.
from_wire <- function(value) {
  number <- if (is.list(value)) suppressWarnings(as.numeric(value[[1]])) else value
  if (!is.numeric(number) || length(number) != 1 || (is.na(number) && !is.nan(number))) stop("data and epsilon must be numbers")
  as.numeric(number)
}

# Numbers of an answer, as JSON: jsonlite would keep 15 digits, and write 2.0 as 2, which is an integer.
to_wire <- function(values) {
  text <- sprintf("%.17g", values)
  whole <- !grepl("[.e]", text)
  text[whole] <- paste0(text[whole], ".0")
  text[is.nan(values)] <- '{"$float": "nan"}'
  text[is.infinite(values)] <- ifelse(values[is.infinite(values)] > 0, '{"$float": "inf"}', '{"$float": "-inf"}')
  text
}

# The outputs of `size` runs as JSON; the bug is half the noise.
runs <- function(data, epsilon, size) {
  rate <- (if (bug) 2 else 1) * epsilon
  noise <- rexp(size * length(data), rate) - rexp(size * length(data), rate)
  outputs <- matrix(to_wire(on_grid(data + noise)), nrow = length(data), ncol = size)
  paste0("[", apply(outputs, 2, paste, collapse = ", "), "]", collapse = ", ")
}

# [["key"]] and not $key, which would take another key that starts alike.
answer <- function(request) {
  data <- request[["data"]]
  epsilon <- request[["arguments"]][["epsilon"]]
  count <- request[["count"]]
  if (!is.list(data) || is.null(epsilon)) stop("the request needs data and epsilon")
  data <- vapply(data, from_wire, numeric(1))
  epsilon <- from_wire(epsilon)
  seed_generator(request[["seed"]])
  for (start in seq(0, count - 1, by = BATCH)) {
    cat(sprintf('{"id": %.0f, "outputs": [%s]}\n', request[["id"]], runs(data, epsilon, min(BATCH, count - start))))
  }
  cat(sprintf('{"id": %.0f, "done": true}\n', request[["id"]]))
}

requests <- file("stdin", "r")
while (length(line <- readLines(requests, n = 1, encoding = "UTF-8")) > 0) {
  request <- jsonlite::fromJSON(line, simplifyVector = FALSE)
  tryCatch(answer(request), error = function(problem) {
    failure <- jsonlite::toJSON(conditionMessage(problem), auto_unbox = TRUE)
    cat(sprintf('{"id": %.0f, "failure": %s}\n', request[["id"]], failure))
  })
  flush(stdout())
}
