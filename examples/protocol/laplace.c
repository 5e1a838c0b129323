/* A Laplace histogram for RefuteDP's command protocol, in C.
 *
 *   cc -O2 -o laplace laplace.c -lm
 *   refutedp check --command ./laplace --epsilon 0.5 --adjacency one-differs
 *   refutedp check --command "./laplace --bug" --epsilon 0.5 --adjacency one-differs
 *
 * Requests are read with a few string searches, which is enough for data that is a list of numbers.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 10000
#define BATCH 100

static uint64_t state;

static double uniform(void) { /* splitmix64, in (0, 1) */
    uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double laplace(double scale) { return scale * (log(uniform()) - log(uniform())); }

/* The last digits of a float tell which numbers were added: round them away. */
static double on_grid(double value) { return rint(value * 1024) / 1024; }

/* What follows "key": in the request, or NULL. */
static const char *find(const char *line, const char *key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *found = strstr(line, quoted);
    return found ? found + strlen(quoted) : NULL;
}

/* A number at *text, which may be {"$float": "nan"} or {"$int": "..."}; moves *text behind it. */
static double number(const char **text) {
    const char *p = *text + strspn(*text, " ,");
    double value;
    if (*p == '{') {
        p = strchr(p, ':');
        p += 1 + strspn(p + 1, " \"");
        value = strtod(p, NULL);
        *text = strchr(p, '}') + 1;
        return value;
    }
    char *end;
    value = strtod(p, &end);
    *text = end;
    return value;
}

static void print_number(double value) {
    if (isfinite(value))
        printf("%.17g", value);
    else
        printf("{\"$float\": \"%s\"}", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

int main(int argc, char **argv) {
    int bug = argc > 1 && strcmp(argv[1], "--bug") == 0;
    char *line = NULL;
    size_t room = 0;
    static double data[MOST];
    while (getline(&line, &room, stdin) > 0) {
        const char *id = find(line, "id"), *items = find(line, "data"), *epsilon = find(line, "epsilon");
        const char *seed = find(line, "seed"), *count = find(line, "count");
        if (!id || !items || !epsilon || !seed || !count || !(items = strchr(items, '['))) {
            printf("{\"id\": %ld, \"failure\": \"the request needs data and epsilon\"}\n", id ? strtol(id, NULL, 10) : 0);
            fflush(stdout);
            continue;
        }
        int n = 0;
        for (items++; *(items += strspn(items, " ,")) != ']' && n < MOST;) data[n++] = number(&items);
        double scale = (bug ? 0.5 : 1.0) / number(&epsilon); /* the bug: half the noise */
        long number_of_request = strtol(id, NULL, 10), runs = strtol(count, NULL, 10);
        state = strtoull(seed, NULL, 10);
        for (long run = 0; run < runs; run++) {
            if (run % BATCH == 0) printf("%s{\"id\": %ld, \"outputs\": [", run ? "]}\n" : "", number_of_request);
            if (run % BATCH) printf(", ");
            printf("[");
            for (int i = 0; i < n; i++) {
                if (i) printf(", ");
                print_number(on_grid(data[i] + laplace(scale)));
            }
            printf("]");
        }
        printf("%s{\"id\": %ld, \"done\": true}\n", runs ? "]}\n" : "", number_of_request);
        fflush(stdout);
    }
    free(line);
    return 0;
}
