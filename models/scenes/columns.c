/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of numbers with names and units: what somebody knows about a scene
 * (docs/reference/scene-files.md). */
#include "models/scenes/truths.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_COLUMNS = 20000, MOST_ROWS = 50000000 };

#define COLUMNS_WRONG(number, ...) columns_wrong(ctx, path, number, __VA_ARGS__)
static perp_status columns_wrong(perp_ctx *ctx, const char *path, int line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static perp_status columns_wrong(perp_ctx *ctx, const char *path, int line, const char *fmt, ...)
{
  char what[300];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%.180s:%d: %s", path, line, what);
}

void perp_data_free(perp_data *c)
{
  for (int i = 0; i < c->n; i++) {
    free(c->name[i]);
    free(c->unit[i]);
  }
  for (int i = 0; i < c->n_words; i++) free(c->word[i]);
  free(c->name);
  free(c->unit);
  free(c->word);
  free(c->x);
  free(c->path);
  *c = (perp_data){ 0 };
}

/* s without blanks around it; what was behind is cut off. */
static char *columns_trim(char *s)
{
  while (isspace((unsigned char)*s)) s++;
  size_t n = strlen(s);
  while (n > 0 && isspace((unsigned char)s[n - 1])) s[--n] = '\0';
  return s;
}

/* "# uncertainty: 1e-9", "# source: text"; other comments are for people. */
static perp_status columns_comment(perp_ctx *ctx, const char *path, int number, char *s,
                                   perp_data *c)
{
  s = columns_trim(s + 1);
  if (strncmp(s, "source:", 7) == 0)
    snprintf(c->source, sizeof c->source, "%s", columns_trim(s + 7));
  if (strncmp(s, "uncertainty:", 12) != 0) return PERP_OK;
  if (perp_parse_real(NULL, columns_trim(s + 12), "", &c->uncertainty) == PERP_OK &&
      c->uncertainty >= 0 && isfinite(c->uncertainty))
    return PERP_OK;
  return COLUMNS_WRONG(number, "the uncertainty must be a number that is not negative: got '%.40s'",
                       columns_trim(s + 12));
}

static perp_status columns_header(perp_ctx *ctx, const char *path, int number, char *line,
                                  perp_data *c)
{
  int n = 1;
  for (const char *s = line; *s != '\0'; s++) n += *s == ',';
  if (n > MOST_COLUMNS)
    return COLUMNS_WRONG(number, "the table has more than %d columns, which is the limit",
                         MOST_COLUMNS);
  c->name = calloc((size_t)n, sizeof *c->name);
  c->unit = calloc((size_t)n, sizeof *c->unit);
  if (c->name == NULL || c->unit == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory");
  c->header = number;
  for (char *s = line, *next; s != NULL; s = next) {
    next = strchr(s, ',');
    if (next != NULL) *next++ = '\0';
    char *open = strchr(s, '['), *unit = open, *close = open != NULL ? strchr(open, ']') : NULL;
    if (open != NULL && (close == NULL || columns_trim(close + 1)[0] != '\0'))
      return COLUMNS_WRONG(
          number, "column %d: write the unit in brackets behind the name, as in x [m]", c->n + 1);
    if (open != NULL) *open = *close = '\0', unit++;
    c->name[c->n] = strdup(columns_trim(s));
    c->unit[c->n] = strdup(unit != NULL ? columns_trim(unit) : "");
    c->n++;
    if (c->name[c->n - 1] == NULL || c->unit[c->n - 1] == NULL)
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory");
    if (c->name[c->n - 1][0] == '\0') return COLUMNS_WRONG(number, "column %d has no name", c->n);
    for (int i = 0; i + 1 < c->n; i++)
      if (strcmp(c->name[i], c->name[c->n - 1]) == 0)
        return COLUMNS_WRONG(number, "two columns have the same name '%.60s'", c->name[i]);
  }
  if (strcmp(c->name[0], "t") != 0)
    return COLUMNS_WRONG(number, "the first column must be the time, t [s]: got '%.60s'",
                         c->name[0]);
  return PERP_OK;
}

/* The number of a word. */
static double columns_word(perp_data *c, const char *s)
{
  for (int i = 0; i < c->n_words; i++)
    if (strcmp(c->word[i], s) == 0) return i;
  char **more = realloc(c->word, ((size_t)c->n_words + 1) * sizeof *more), *copy = strdup(s);
  if (more != NULL) c->word = more;
  if (more == NULL || copy == NULL) return free(copy), (double)NAN;
  c->word[c->n_words] = copy;
  return c->n_words++;
}

static perp_status columns_row(perp_ctx *ctx, const char *path, int number, char *line,
                               perp_data *c)
{
  double *row = c->x + (size_t)c->rows * (size_t)c->n;
  int k = 0;
  for (char *s = line, *next; s != NULL; s = next, k++) {
    next = strchr(s, ',');
    if (next != NULL) *next++ = '\0';
    s = columns_trim(s);
    if (k == c->n) break;
    char *end = s;
    const bool word = strcmp(c->name[k], "event") == 0;
    row[k] = word ? columns_word(c, s) : strtod(s, &end);
    if (word ? s[0] == '\0' || isnan(row[k]) : end == s || *end != '\0' || !isfinite(row[k]))
      return COLUMNS_WRONG(number, "column %d, '%.60s', needs a %s: got '%.40s'", k + 1, c->name[k],
                           word ? "word" : "finite number", s);
  }
  if (k != c->n || strchr(line, '\n') != NULL)
    return COLUMNS_WRONG(number, "the row must have %d columns, as the header has", c->n);
  if (c->rows > 0 && row[0] < row[-c->n])
    return COLUMNS_WRONG(number, "the time must not decrease: got %.17g after %.17g", row[0],
                         row[-c->n]);
  c->rows++;
  return PERP_OK;
}

static perp_status columns_lines(perp_ctx *ctx, const char *path, FILE *in, perp_data *c,
                                 char **line, size_t *size)
{
  size_t room = 0;
  for (int number = 1; getline(line, size, in) >= 0; number++) {
    char *s = columns_trim(*line);
    if (s[0] == '\0') continue;
    if (s[0] == '#') {
      PERP_TRY(columns_comment(ctx, path, number, s, c));
      continue;
    }
    if (c->n == 0) {
      PERP_TRY(columns_header(ctx, path, number, s, c));
      continue;
    }
    if (c->rows == MOST_ROWS)
      return COLUMNS_WRONG(number, "the table has more than %d rows, which is the limit",
                           MOST_ROWS);
    if ((size_t)c->rows == room) {
      room = 2 * room + 64;
      double *more = realloc(c->x, room * (size_t)c->n * sizeof *more);
      if (more == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %s", path);
      c->x = more;
    }
    PERP_TRY(columns_row(ctx, path, number, s, c));
  }
  if (c->n == 0)
    return COLUMNS_WRONG(1, "the header is missing: write a first line such as t [s], body.x [m]");
  return c->rows > 0 ? PERP_OK : COLUMNS_WRONG(c->header, "the table has a header and no rows");
}

perp_status perp_data_read(perp_ctx *ctx, const char *path, perp_data *out)
{
  struct stat st;
  char *line = NULL;
  size_t size = 0;
  *out = (perp_data){ .uncertainty = (double)NAN, .path = strdup(path) };
  perp_status status = PERP_OK;
  FILE *in = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "r") : NULL;
  if (in == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_IO, "cannot read %s: %s", path,
                       errno != 0 ? strerror(errno) : "it is not a regular file");
  else {
    status = columns_lines(ctx, path, in, out, &line, &size);
    fclose(in);
  }
  free(line);
  const int u = status == PERP_OK ? perp_data_find(out, "uncertainty") : -1;
  for (int i = 0; u >= 0 && i < out->rows; i++)
    out->uncertainty = fmax(out->uncertainty, out->x[(size_t)i * (size_t)out->n + (size_t)u]);
  if (status == PERP_OK) status = perp_data_si(ctx, out, 0, "s");
  if (status != PERP_OK) perp_data_free(out);
  return status;
}

int perp_data_find(const perp_data *c, const char *name)
{
  for (int i = 0; i < c->n; i++)
    if (strcmp(c->name[i], name) == 0) return i;
  return -1;
}

perp_status perp_data_si(perp_ctx *ctx, perp_data *c, int k, const char *unit)
{
  char one[80];
  double factor = 1;
  const char *path = c->path;
  if (c->unit[k][0] == '\0' && unit[0] != '\0')
    return COLUMNS_WRONG(c->header, "column '%.60s' has no unit: write %s [%s]", c->name[k],
                         c->name[k], unit);
  snprintf(one, sizeof one, "1 %.60s", c->unit[k]);
  if (perp_parse_real(NULL, one, unit, &factor) != PERP_OK)
    return COLUMNS_WRONG(c->header, "column '%.60s' has the unit %.40s: %s is required", c->name[k],
                         c->unit[k], unit[0] != '\0' ? unit : "a dimensionless number");
  for (int i = 0; i < c->rows && factor != 1; i++)
    c->x[(size_t)i * (size_t)c->n + (size_t)k] *= factor;
  free(c->unit[k]);
  c->unit[k] = strdup(unit);
  return c->unit[k] != NULL ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory");
}

/* ---- names of coordinates ---- */

static const struct coordinate {
  const char *name, *unit;
} space[] = { { "x", "m" },     { "y", "m" },    { "z", "m" },      { "qw", "" },
              { "qx", "" },     { "qy", "" },    { "qz", "" },      { "vx", "m/s" },
              { "vy", "m/s" },  { "vz", "m/s" }, { "wx", "rad/s" }, { "wy", "rad/s" },
              { "wz", "rad/s" } },
  plane[] = { { "x", "m" },    { "y", "m" },    { "angle", "rad" },
              { "vx", "m/s" }, { "vy", "m/s" }, { "omega", "rad/s" } };

int perp_coordinates(int dim)
{
  return dim == 3 ? 13 : 6;
}

const char *perp_coordinate_name(int dim, int k)
{
  return dim == 3 ? space[k].name : plane[k].name;
}

const char *perp_coordinate_unit(int dim, int k)
{
  return dim == 3 ? space[k].unit : plane[k].unit;
}

perp_status perp_coordinate_find(perp_ctx *ctx, const perp_model *model, const char *text,
                                 int *body, int *k)
{
  const int dim = perp_model_dim(model), bodies = perp_model_bodies(model);
  const char *dot = strrchr(text, '.');
  const size_t n = dot != NULL ? (size_t)(dot - text) : 0;
  *body = -1;
  for (int b = 0; b < bodies && *body < 0 && n > 0; b++) {
    const char *name = perp_model_body(model, b)->name;
    char number[16];
    snprintf(number, sizeof number, "%d", b);
    if ((name != NULL && strlen(name) == n && strncmp(name, text, n) == 0) ||
        (strlen(number) == n && strncmp(number, text, n) == 0))
      *body = b;
  }
  if (*body < 0)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "'%.60s' is not a coordinate of a body: write BODY.%s with the name or the "
                     "number of the body",
                     text, "x");
  for (*k = 0; *k < perp_coordinates(dim); ++*k)
    if (strcmp(perp_coordinate_name(dim, *k), dot + 1) == 0) return PERP_OK;
  return PERP_FAIL(
      ctx, PERP_ERR_ARG, "'%.60s' is not a coordinate of a body: the coordinates are %s", text,
      dim == 3 ? "x, y, z, qw, qx, qy, qz, vx, vy, vz, wx, wy, wz" : "x, y, angle, vx, vy, omega");
}
