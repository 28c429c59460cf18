/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of a scene file that depend on time, and prescribed motions of bodies.
 *
 * Where a number can be a signal, an expression that mentions t is a function of time, and a map is
 * one of the kinds of models/multibody/signal.h.  A value of the file that is called t hides the
 * time: then there are no such functions. */
#include "experiments/scenes/parts.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- functions ---- */

/* An expression with the values that names had when it was read. */
struct function {
  perp_pool pool;
  int t; /* which value is the time */
  int n;
  perp_value *value;
  perp_expr *e;
  perp_ctx ctx; /* of the scope */
};

struct moment {
  const struct function *f;
  double t;
};

static void signals_value(void *user, int row, int column, perp_value *value)
{
  const struct moment *now = user;
  (void)row;
  *value = column == now->f->t ? (perp_value){ PERP_VALUE_NUMBER, now->t, NULL }
                               : now->f->value[column];
}

static void signals_at(const void *user, double t, double y[3])
{
  struct moment now = { user, t };
  const perp_scope scope = {
    .ctx = &now.f->ctx, .arithmetic = true, .rows = 1, .value = signals_value, .user = &now
  };
  perp_expr_derivatives(now.f->e, &scope, 0, now.f->t, y);
}

static void signals_destroy(void *user)
{
  struct function *function = user;
  perp_pool pool = function->pool;
  perp_pool_free(&pool);
}

/* ---- reading ---- */

/* Does a text have t as a word of its own, and does no value hide the time? */
static bool signals_mentions(const perp_scene_reader *reader, const char *text)
{
  for (int column = 0; column < reader->values.n; column++)
    if (strcmp(reader->values.column[column].name, "t") == 0) return false;
  for (const char *at = text; *at != '\0';) {
    size_t n = 0;
    while (isalnum((unsigned char)at[n]) || at[n] == '_') n++;
    if (n == 1 && *at == 't') return true;
    at += n > 0 ? n : 1;
  }
  return false;
}

static bool signals_add(perp_scene_reader *reader, const perp_node *node,
                        const perp_signal_def *def, perp_signal_ref *signal)
{
  if (perp_model_add_signal(reader->ctx, reader->scene->model, def, signal) == PERP_OK) return true;
  perp_scene_refused(reader, node);
  return false;
}

/* unit: of the value; plain: nothing has a unit, as export writes it */
static bool signals_function(perp_scene_reader *reader, const perp_node *node, const char *unit,
                             bool plain, double *x, perp_signal_ref *signal)
{
  perp_pool pool = { 0 };
  struct function *function = perp_pool_alloc(&pool, 1, sizeof *function);
  const int known = reader->values.n;
  bool good = perp_values_add(&reader->values, node, "t", plain ? "" : "s",
                              (perp_value){ PERP_VALUE_NUMBER, 0, NULL }, NULL);
  if (!good) {
    perp_pool_free(&pool);
    return false;
  }
  function->pool = pool;
  function->t = known;
  function->ctx = *reader->ctx;
  /* what is read here outlives the reader */
  perp_values values = reader->values;
  values.pool = &function->pool;
  values.kept = NULL;
  values.n_kept = values.n_slots = 0;
  function->n = values.n;
  function->value = perp_pool_alloc(&function->pool, (size_t)values.n, sizeof *function->value);
  memcpy(function->value, values.value, (size_t)values.n * sizeof *function->value);
  function->e = perp_values_expression(&values, node, plain ? NULL : unit);
  perp_values_drop(&reader->values, known);
  double y[3] = { 0 };
  const bool moves = function->e != NULL && perp_expr_mentions(function->e, function->t);
  if (function->e != NULL) signals_at(function, 0, y);
  good = function->e != NULL;
  if (good && !isfinite(y[0])) {
    PERP_SCENE_WRONG(reader, node, "the value at t = 0 is not finite");
    good = false;
  }
  if (!good || !moves) { /* if(t < 0 s ...) in a text that names t in quotes only, say */
    *x = y[0];
    signals_destroy(function);
    return good;
  }
  struct moment now = { function, 0 };
  const perp_scope scope = { .ctx = &function->ctx,
                             .columns = values.column,
                             .n_columns = values.n,
                             .arithmetic = true,
                             .rows = 1,
                             .value = signals_value,
                             .user = &now };
  perp_text text = { 0 };
  perp_expr_write(function->e, &scope, function->t, &text);
  const perp_signal_def def = { .kind = PERP_SIGNAL_FUNCTION,
                                .of = signals_at,
                                .user = function,
                                .destroy = signals_destroy,
                                .text = text.s };
  good = signals_add(reader, node, &def, signal);
  perp_text_free(&text);
  if (!good) signals_destroy(function);
  return good;
}

static const char *const signals_kinds[] = {
  "constant", "sine", "table", "spline", "function", NULL
};

static const perp_key signals_key_table[] = { PERP_KEY_ONE_OF(perp_signal_def, kind, "kind",
                                                              signals_kinds),
                                              PERP_KEY_SPECIAL("offset"),
                                              PERP_KEY_SPECIAL("amplitude"),
                                              PERP_KEY_REAL(perp_signal_def, rate, "rate", "rad/s"),
                                              PERP_KEY_REAL(perp_signal_def, phase, "phase", "rad"),
                                              PERP_KEY_SPECIAL("frequency"),
                                              PERP_KEY_SPECIAL("points"),
                                              PERP_KEY_SPECIAL("of"),
                                              PERP_KEY_SPECIAL("plus"),
                                              PERP_KEYS_END };

/* Which keys a kind has, beside kind and plus. */
static bool signals_keys(perp_scene_reader *reader, const perp_node *node, perp_signal_kind kind)
{
  static const char *const of[][6] = { { "offset" },
                                       { "offset", "amplitude", "rate", "frequency", "phase" },
                                       { "points" },
                                       { "points" },
                                       { "of" } };
  for (int i = 0; i < node->n; i++) {
    const char *key = node->key[i]->text;
    bool known = strcmp(key, "kind") == 0 || strcmp(key, "plus") == 0;
    for (int k = 0; k < 6 && of[kind][k] != NULL; k++) known |= strcmp(of[kind][k], key) == 0;
    if (known) continue;
    PERP_SCENE_WRONG(reader, node->key[i], "the key '%s' is not allowed with 'kind: %s'", key,
                     signals_kinds[kind]);
    return false;
  }
  return true;
}

static bool signals_points(perp_scene_reader *reader, const perp_node *node, const char *unit,
                           perp_signal_def *def)
{
  if (node == NULL || node->type != PERP_NODE_LIST) return true; /* too few: the model says so */
  double *t = perp_pool_alloc(reader->pool, (size_t)node->n + 1, sizeof *t);
  double *y = perp_pool_alloc(reader->pool, (size_t)node->n + 1, sizeof *y);
  for (int i = 0; i < node->n; i++) {
    const perp_node *point = node->item[i];
    if (point->type != PERP_NODE_LIST || point->n != 2) {
      PERP_SCENE_WRONG(reader, point, "a point of a signal must be a list of a time and a value");
      return false;
    }
    if (!perp_values_number(&reader->values, point->item[0], "s", &t[i]) ||
        !perp_values_number(&reader->values, point->item[1], unit, &y[i]))
      return false;
  }
  def->n = node->n;
  def->t = t;
  def->y = y;
  return true;
}

static bool signals_map(perp_scene_reader *reader, const perp_node *node, const char *unit,
                        double *x, perp_signal_ref *signal)
{
  perp_signal_def def = { 0 };
  const perp_node *of = perp_tree_get(node, "of"), *plus = perp_tree_get(node, "plus"),
                  *offset = perp_tree_get(node, "offset"),
                  *amplitude = perp_tree_get(node, "amplitude"),
                  *frequency = perp_tree_get(node, "frequency");
  if (perp_tree_get(node, "kind") == NULL) {
    perp_diag_error(reader->diag, node, 0,
                    "kind: sine, table, spline or constant; or an expression of t",
                    "'kind' is missing here");
    return false;
  }
  if (!perp_keys_read(reader, node, "a signal", signals_key_table, &def) ||
      !signals_keys(reader, node, def.kind) ||
      (plus != NULL && !perp_values_number(&reader->values, plus, unit, x)) ||
      (offset != NULL && !perp_values_number(&reader->values, offset, unit, &def.offset)) ||
      (amplitude != NULL &&
       !perp_values_number(&reader->values, amplitude, unit, &def.amplitude)) ||
      !signals_points(reader, perp_tree_get(node, "points"), unit, &def))
    return false;
  if (frequency != NULL) {
    if (perp_tree_get(node, "rate") != NULL) {
      PERP_SCENE_WRONG(reader, frequency,
                       "frequency (1/s) and rate (rad/s) define the same quantity: remove one");
      return false;
    }
    if (!perp_values_number(&reader->values, frequency, "1/s", &def.rate)) return false;
    def.rate *= 2 * M_PI;
  }
  if (def.kind != PERP_SIGNAL_FUNCTION) return signals_add(reader, node, &def, signal);
  if (of == NULL) {
    PERP_SCENE_WRONG(reader, node,
                     "'of' is missing here: the function, with numbers without units");
    return false;
  }
  double constant = 0;
  if (!signals_function(reader, of, unit, true, &constant, signal)) return false;
  *x += constant;
  return true;
}

static bool signals_read(perp_scene_reader *reader, const perp_node *node, const char *unit,
                         double *x, perp_signal_ref *signal)
{
  *signal = 0;
  if (node->type == PERP_NODE_MAP) {
    *x = 0;
    return signals_map(reader, node, unit, x, signal);
  }
  if (node->type != PERP_NODE_SCALAR || !signals_mentions(reader, node->text))
    return perp_values_number(&reader->values, node, unit, x);
  *x = 0;
  return signals_function(reader, node, unit, false, x, signal);
}

bool perp_scene_read_signals(perp_scene_reader *reader, const perp_node *node, const char *unit,
                             int n, int missing, double *x, perp_signal_ref *signal)
{
  if (n == 1) return signals_read(reader, node, unit, x, signal);
  if (node->type != PERP_NODE_LIST || node->n > n || node->n < n - missing) {
    PERP_SCENE_WRONG(reader, node, "a list of %d numbers is required here", n - missing);
    return false;
  }
  if (reader->section && n == 3 && node->n != 3) {
    PERP_SCENE_WRONG(reader, node, "a list of 3 numbers is required here");
    return false;
  }
  const bool section = reader->section && n == 3;
  for (int i = 0; i < node->n; i += section ? 2 : 1) { /* (x, z) of a section */
    const int to = section ? i / 2 : i;
    if (!signals_read(reader, node->item[i], unit, &x[to], &signal[to])) return false;
  }
  return true;
}

/* ---- motions ---- */

const perp_key perp_scene_motion_keys[] = {
  PERP_KEY_OF(perp_motion_def, name, "name", PERP_KEY_TEXT),
  PERP_KEY_OF(perp_motion_def, body, "body", PERP_KEY_BODY),
  PERP_KEY_DRIVEN(perp_motion_def, x, x_signal, "x", "m", 3),
  PERP_KEY_OF(perp_motion_def, free_turn, "free_turn", PERP_KEY_BOOL),
  PERP_KEY_REALS(perp_motion_def, axis, "axis", "", 3),
  PERP_KEY_DRIVEN(perp_motion_def, angle, angle_signal, "angle", "rad", 1),
  PERP_KEYS_ENTRY,
  PERP_KEYS_END
};

static void motions_entry(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  perp_motion_def def = { .body = PERP_WORLD };
  const perp_node *node = perp_tree_get(entry, "x");
  (void)user;
  if (perp_tree_get(entry, "body") == NULL) {
    PERP_SCENE_WRONG(reader, entry, "'body' is missing here");
    return;
  }
  if (!perp_keys_read(reader, entry, "motions", perp_scene_motion_keys, &def)) return;
  if (def.body == PERP_WORLD) {
    PERP_SCENE_WRONG(reader, perp_tree_get(entry, "body"), "the world cannot move");
    return;
  }
  if (reader->section && perp_tree_get(entry, "axis") != NULL) {
    perp_diag_error(
        reader->diag, perp_tree_get(entry, "axis"), 0,
        "write two entries: when: dim == 3 with the axis, when: dim == 2 with the angle only",
        "a section (dim: 2) has no axis");
    return;
  }
  perp_scene_body *body = &reader->body[def.body];
  if (node == NULL) memcpy(def.x, body->def.x, sizeof def.x);
  double start[3] = { 0 };
  for (int k = 0; k < reader->dim; k++) {
    double y[3] = { 0 };
    if (def.x_signal[k] != 0)
      perp_signal_at(perp_model_signal(reader->scene->model, def.x_signal[k]), 0, y);
    start[k] = def.x[k] + y[0];
  }
  if (body->set[0] == NULL) memcpy(body->def.x, start, sizeof start);
  def.sets_velocity = body->set[2] == NULL && body->set[3] == NULL;
  reader->motion = perp_pool_grown(reader->pool, reader->motion, reader->n_motions,
                                   sizeof *reader->motion);
  reader->motion_at = perp_pool_grown(reader->pool, reader->motion_at, reader->n_motions,
                                      sizeof *reader->motion_at);
  reader->motion[reader->n_motions] = def;
  reader->motion_at[reader->n_motions++] = entry;
}

void perp_scene_read_motions(perp_scene_reader *reader)
{
  perp_entries(reader, perp_tree_get(reader->root, "motions"), "motions", motions_entry, NULL);
}

void perp_scene_add_motions(perp_scene_reader *reader, perp_model *model)
{
  for (int motion = 0; motion < reader->n_motions; motion++)
    if (perp_model_add_motion(reader->ctx, model, &reader->motion[motion], NULL) != PERP_OK) {
      perp_scene_refused(reader, reader->motion_at[motion]);
      return;
    }
}
