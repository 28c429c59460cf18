/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of numbers with names and units: what somebody knows about a scene
 * (docs/reference/scene-files.md). */
#include "models/scenes/truths.h"

#include "solvers/core/input.h"
#include "solvers/core/shown.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 20000, MOST_ROWS = 50000000, MOST_WORDS = 1000, MOST_BYTES = 1 << 30 };

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

void perp_data_free(perp_data *data)
{
  for (int i = 0; i < data->n; i++) {
    free(data->name[i]);
    free(data->unit[i]);
  }
  for (int word = 0; word < data->n_words; word++) free(data->word[word]);
  free(data->name);
  free(data->unit);
  free(data->word);
  free(data->x);
  free(data->path);
  *data = (perp_data){ 0 };
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
static perp_status columns_comment(perp_ctx *ctx, const char *path, int number, char *text,
                                   perp_data *data)
{
  text = columns_trim(text + 1);
  if (strncmp(text, "source:", 7) == 0)
    snprintf(data->source, sizeof data->source, "%s", columns_trim(text + 7));
  if (strncmp(text, "uncertainty:", 12) != 0) return PERP_OK;
  if (perp_parse_real(NULL, columns_trim(text + 12), "", &data->uncertainty) == PERP_OK &&
      data->uncertainty >= 0 && isfinite(data->uncertainty))
    return PERP_OK;
  return COLUMNS_WRONG(number, "the uncertainty must be a number that is not negative: got '%.40s'",
                       columns_trim(text + 12));
}

static perp_status columns_header(perp_ctx *ctx, const char *path, int number, char *line,
                                  perp_data *data)
{
  int n = 1;
  for (const char *at = line; *at != '\0'; at++) n += *at == ',';
  if (n > MOST_COLUMNS)
    return COLUMNS_WRONG(number, "the table has more than %d columns, which is the limit",
                         MOST_COLUMNS);
  data->name = calloc((size_t)n, sizeof *data->name);
  data->unit = calloc((size_t)n, sizeof *data->unit);
  if (data->name == NULL || data->unit == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory");
  data->header = number;
  for (char *at = line, *next; at != NULL; at = next) {
    next = strchr(at, ',');
    if (next != NULL) *next++ = '\0';
    char *open = strchr(at, '['), *unit = open, *close = open != NULL ? strchr(open, ']') : NULL;
    if (open != NULL && (close == NULL || columns_trim(close + 1)[0] != '\0'))
      return COLUMNS_WRONG(number,
                           "column %d: write the unit in brackets behind the name, as in x [m]",
                           data->n + 1);
    if (open != NULL) *open = *close = '\0', unit++;
    data->name[data->n] = strdup(columns_trim(at));
    data->unit[data->n] = strdup(unit != NULL ? columns_trim(unit) : "");
    data->n++;
    if (data->name[data->n - 1] == NULL || data->unit[data->n - 1] == NULL)
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory");
    if (data->name[data->n - 1][0] == '\0')
      return COLUMNS_WRONG(number, "column %d has no name", data->n);
    for (int i = 0; i + 1 < data->n; i++)
      if (strcmp(data->name[i], data->name[data->n - 1]) == 0)
        return COLUMNS_WRONG(number, "two columns have the same name '%.60s'", data->name[i]);
  }
  if (strcmp(data->name[0], "t") != 0)
    return COLUMNS_WRONG(number, "the first column must be the time, t [s]: got '%.60s'",
                         data->name[0]);
  return PERP_OK;
}

/* The number of a word; NaN: there are too many, or there is no memory. */
static double columns_word(perp_data *data, const char *text)
{
  for (int word = 0; word < data->n_words; word++)
    if (strcmp(data->word[word], text) == 0) return word;
  if (data->n_words == MOST_WORDS) return (double)NAN;
  char **more = realloc(data->word, ((size_t)data->n_words + 1) * sizeof *more),
       *copy = strdup(text);
  if (more != NULL) data->word = more;
  if (more == NULL || copy == NULL) return free(copy), (double)NAN;
  data->word[data->n_words] = copy;
  return data->n_words++;
}

static perp_status columns_row(perp_ctx *ctx, const char *path, int number, char *line,
                               perp_data *data)
{
  double *row = data->x + (size_t)data->rows * (size_t)data->n;
  int k = 0;
  for (char *at = line, *next; at != NULL; at = next, k++) {
    next = strchr(at, ',');
    if (next != NULL) *next++ = '\0';
    at = columns_trim(at);
    if (k == data->n) break;
    char *end = at;
    const bool word = strcmp(data->name[k], "event") == 0;
    row[k] = word ? columns_word(data, at) : strtod(at, &end);
    if (word ? at[0] == '\0' || isnan(row[k]) : end == at || *end != '\0' || !isfinite(row[k]))
      return COLUMNS_WRONG(number, "column %d, '%.60s', needs a %s: got '%.40s'", k + 1,
                           data->name[k], word ? "word" : "finite number", at);
  }
  if (k != data->n || strchr(line, '\n') != NULL)
    return COLUMNS_WRONG(number, "the row must have %d columns, as the header has", data->n);
  if (data->rows > 0 && row[0] < row[-data->n])
    return COLUMNS_WRONG(number, "the time must not decrease: got %.17g after %.17g", row[0],
                         row[-data->n]);
  data->rows++;
  return PERP_OK;
}

static perp_status columns_lines(perp_ctx *ctx, const char *path, FILE *in, perp_data *data,
                                 char **line, size_t *size)
{
  size_t room = 0;
  ssize_t n = 0;
  for (int number = 1;; number++) {
    PERP_TRY(perp_input_line(ctx, path, in, line, size, &n));
    if (n < 0) break;
    if (strlen(*line) != (size_t)n || !perp_shown_all(*line))
      return COLUMNS_WRONG(number, "the line has a control character, or is no UTF-8");
    char *at = columns_trim(*line);
    if (at[0] == '\0') continue;
    if (at[0] == '#') {
      PERP_TRY(columns_comment(ctx, path, number, at, data));
      continue;
    }
    if (data->n == 0) {
      PERP_TRY(columns_header(ctx, path, number, at, data));
      continue;
    }
    if (data->rows == MOST_ROWS)
      return COLUMNS_WRONG(number, "the table has more than %d rows, which is the limit",
                           MOST_ROWS);
    if ((size_t)data->rows == room) {
      room = 2 * room + 64;
      double *grown = realloc(data->x, room * (size_t)data->n * sizeof *grown);
      if (grown == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %s", path);
      data->x = grown;
    }
    PERP_TRY(columns_row(ctx, path, number, at, data));
  }
  if (data->n == 0)
    return COLUMNS_WRONG(1, "the header is missing: write a first line such as t [s], body.x [m]");
  return data->rows > 0 ? PERP_OK
                        : COLUMNS_WRONG(data->header, "the table has a header and no rows");
}

perp_status perp_data_read(perp_ctx *ctx, const char *path, perp_data *out)
{
  char *line = NULL;
  size_t size = 0;
  *out = (perp_data){ .uncertainty = (double)NAN, .path = strdup(path) };
  FILE *in = NULL;
  perp_status status = out->path != NULL ? perp_input_open(ctx, path, MOST_BYTES, &in)
                                         : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory");
  if (status == PERP_OK) {
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

int perp_data_find(const perp_data *data, const char *name)
{
  for (int i = 0; i < data->n; i++)
    if (strcmp(data->name[i], name) == 0) return i;
  return -1;
}

perp_status perp_data_si(perp_ctx *ctx, perp_data *data, int k, const char *unit)
{
  char one[80];
  double factor = 1;
  const char *path = data->path;
  if (data->unit[k][0] == '\0' && unit[0] != '\0')
    return COLUMNS_WRONG(data->header, "column '%.60s' has no unit: write %s [%s]", data->name[k],
                         data->name[k], unit);
  snprintf(one, sizeof one, "1 %.60s", data->unit[k]);
  if (perp_parse_real(NULL, one, unit, &factor) != PERP_OK)
    return COLUMNS_WRONG(data->header, "column '%.60s' has the unit %.40s: %s is required",
                         data->name[k], data->unit[k],
                         unit[0] != '\0' ? unit : "a dimensionless number");
  for (int i = 0; i < data->rows && factor != 1; i++)
    data->x[(size_t)i * (size_t)data->n + (size_t)k] *= factor;
  free(data->unit[k]);
  data->unit[k] = strdup(unit);
  return data->unit[k] != NULL ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory");
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
