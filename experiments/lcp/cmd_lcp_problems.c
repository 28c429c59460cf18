/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp lcp generate, perp lcp convert, perp lcp info */
#include "experiments/lcp/lcp_cmd.h"
#include "solvers/lcp/io/convert.h"
#include "solvers/lcp/io/io.h"
#include "solvers/lcp/stewart.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- output -------------------------------------------------------------------------------------------------- */

static void write_json(const perp_lcp_problem *q)
{
  const perp_lcp *p = &q->p;
  int n = p->n;
  perp_json j = { .out = stdout };
  perp_json_open(&j, NULL, '{');
  perp_json_text(&j, "family", q->family);
  if (q->provenance != NULL) perp_json_text(&j, "provenance", q->provenance);
  perp_json_int(&j, "n", n);
  perp_json_open(&j, "A", '[');
  for (int i = 0; i < n; i++) {
    perp_json_open(&j, NULL, '[');
    for (int k = 0; k < n; k++)
      perp_json_real(&j, NULL, p->A[(size_t)i + (size_t)k * (size_t)p->lda]);
    perp_json_close(&j, ']');
  }
  perp_json_close(&j, ']');
  perp_lcp_json_vector(&j, "b", p->b, n);
  perp_json_open(&j, "lo", '[');
  for (int i = 0; i < n; i++) perp_json_real(&j, NULL, p->lo != NULL ? p->lo[i] : 0);
  perp_json_close(&j, ']');
  perp_json_open(&j, "hi", '[');
  for (int i = 0; i < n; i++) perp_json_real(&j, NULL, p->hi != NULL ? p->hi[i] : HUGE_VAL);
  perp_json_close(&j, ']');
  perp_json_open(&j, "friction_of", '[');
  for (int i = 0; i < n; i++) perp_json_int(&j, NULL, p->fric_of != NULL ? p->fric_of[i] : -1);
  perp_json_close(&j, ']');
  perp_json_open(&j, "mu", '[');
  for (int i = 0; i < n; i++) perp_json_real(&j, NULL, p->fric_of != NULL ? p->mu[i] : 0);
  perp_json_close(&j, ']');
  if (p->cone != NULL) {
    perp_json_open(&j, "cone", '[');
    for (int i = 0; i < n; i++) perp_json_int(&j, NULL, p->cone[i]);
    perp_json_close(&j, ']');
  }
  if (p->unit != NULL) perp_lcp_json_vector(&j, "unit", p->unit, n);
  if (p->contact_of != NULL) {
    perp_json_open(&j, "contact_of", '[');
    for (int i = 0; i < n; i++) perp_json_int(&j, NULL, p->contact_of[i]);
    perp_json_close(&j, ']');
  }
  if (p->frozen) perp_json_bool(&j, "frozen", true);
  if (q->solution != NULL)
    perp_lcp_json_vector(&j, "solution", q->solution, n);
  else
    perp_json_raw(&j, "solution", "null");
  perp_json_close(&j, '}');
  printf("\n");
}

static bool ends_with(const char *s, const char *end)
{
  size_t n = strlen(s), m = strlen(end);
  return n >= m && strcmp(s + n - m, end) == 0;
}

/* To a file by its suffix, or .lcp text to stdout. */
static int write_problem(perp_ctx *ctx, const perp_lcp_problem *p, const char *path)
{
  perp_status status;
  if (path != NULL && (ends_with(path, ".hdf5") || ends_with(path, ".h5"))) {
    perp_out o;
    status = perp_out_open(ctx, path, &o);
    if (status == PERP_OK) status = perp_lcp_write_fclib(ctx, p, o.part != NULL ? o.part : path);
    perp_status closed = perp_out_close(ctx, &o, status == PERP_OK);
    if (status == PERP_OK) status = closed;
    return status == PERP_OK ? PERP_EXIT_OK : perp_lcp_refuse(ctx, status);
  }
  perp_out o = { .f = stdout };
  bool to_stdout = path == NULL || strcmp(path, "-") == 0;
  if (!to_stdout && perp_out_open(ctx, path, &o) != PERP_OK)
    return perp_lcp_refuse(ctx, PERP_ERR_IO);
  status = path != NULL && ends_with(path, ".mtx") ? perp_lcp_write_mtx(ctx, p, o.f)
                                                   : perp_lcp_write(ctx, p, o.f);
  perp_status closed = to_stdout ? PERP_OK : perp_out_close(ctx, &o, status == PERP_OK);
  if (status == PERP_OK) status = closed;
  return status == PERP_OK ? PERP_EXIT_OK : perp_lcp_refuse(ctx, status);
}

/* ---- generate ------------------------------------------------------------------------------------------------ */

static void list_families(bool json)
{
  const perp_lcp_family *f;
  perp_json j = { .out = stdout, .indent = true };
  if (json) perp_json_open(&j, NULL, '[');
  for (int i = 0; (f = perp_lcp_family_at(i)) != NULL; i++) {
    if (!json) {
      printf("  %-17s %s\n", f->name, f->summary);
      continue;
    }
    perp_json_open(&j, NULL, '{');
    perp_json_text(&j, "name", f->name);
    perp_json_text(&j, "summary", f->summary);
    perp_json_int(&j, "least", f->least);
    perp_json_int(&j, "most", f->most);
    perp_json_bool(&j, "boxes", f->contact);
    perp_json_bool(&j, "factored", f->factored);
    perp_json_bool(&j, "solvable", f->classes & PERP_CLASS_SOLVABLE);
    perp_json_close(&j, '}');
  }
  if (json) perp_json_close(&j, ']');
  if (json) printf("\n");
}

int perp_cmd_lcp_generate(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = {
    { "n", 'n', "N", "number of rows; the nearest that the family has" },
    { "boxes", 0, "K", "number of boxes of a contact family" },
    { "seed", 0, "S", "of the random families and of --permute; default 1" },
    { "permute", 0, NULL, "random order of the rows" },
    { "scale", 0, "S", "(A, b) times S: the same solutions" },
    { "factored", 0, NULL, "keep J, M^-1 apart instead of forming A" },
    { "list", 0, NULL, "the families" },
    { "json", 0, NULL, "one JSON object instead of a .lcp file" },
    { "output", 'o', "FILE", ".lcp, .mtx or .hdf5 instead of stdout" },
    { 0 }
  };
  static const perp_cli cli = { "lcp generate",
                                "FAMILY [--n N|--boxes K]",
                                "Makes a problem of a family, the same on every machine for the "
                                "same options. --list prints the "
                                "families.",
                                NULL,
                                "perp lcp generate wall --boxes 60 --seed 3 --permute > wall.lcp",
                                flags,
                                0,
                                1 };
  perp_args args;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  bool json = perp_args_get(&args, "json") != NULL;
  if (perp_args_get(&args, "list") != NULL) {
    list_families(json);
    return PERP_EXIT_OK;
  }
  if (args.n != 1) return perp_usage_error(&args, "a family is missing");
  int64_t n = 0, boxes = 0, seed = 1;
  perp_lcp_recipe r = { .family = args.arg[0], .scale = 1 };
  if ((status = perp_lcp_whole(ctx, &args, "n", 1, INT32_MAX / 2, &n)) >= 0) return status;
  if ((status = perp_lcp_whole(ctx, &args, "boxes", 1, INT32_MAX / 2, &boxes)) >= 0) return status;
  if ((status = perp_lcp_whole(ctx, &args, "seed", 0, INT64_MAX, &seed)) >= 0) return status;
  if ((status = perp_lcp_positive(ctx, &args, "scale", &r.scale)) >= 0) return status;
  if (n > 0 && boxes > 0) return perp_usage_error(&args, "either --n or --boxes");
  const perp_lcp_family *f = perp_lcp_family_find(r.family);
  if (f != NULL && n > 0) {
    r.n = perp_lcp_family_rows(f, (int)n);
    if (r.n != n)
      perp_say("%s has no problem of %d rows; the nearest has %d", f->name, (int)n, r.n);
  } else if (f != NULL && !f->contact)
    r.n = perp_lcp_family_rows(f, 16);
  r.boxes = (int)boxes;
  r.seed = (uint64_t)seed;
  r.permute = perp_args_get(&args, "permute") != NULL;
  r.factored = perp_args_get(&args, "factored") != NULL;
  if (f != NULL && !f->seeded && !r.permute && perp_args_get(&args, "seed") != NULL)
    return perp_usage_error(&args, "--seed has no effect: nothing in %s is random; leave it out",
                            f->name);
  if (r.factored && (r.permute || json))
    return perp_usage_error(&args, "--factored goes with neither --permute nor --json");
  perp_lcp_problem p;
  perp_status made = perp_lcp_generate(ctx, &r, &p);
  if (made != PERP_OK) return perp_lcp_refuse(ctx, made);
  if (json)
    write_json(&p);
  else
    status = write_problem(ctx, &p, perp_args_get(&args, "output"));
  perp_lcp_problem_free(&p);
  return json ? PERP_EXIT_OK : status;
}

/* ---- convert --------------------------------------------------------------------------------------------------- */

/* *p is freed and replaced by *q. */
static void swap_in(perp_lcp_problem *p, perp_lcp_problem *q)
{
  perp_lcp_problem_free(p);
  *p = *q;
}

int perp_cmd_lcp_convert(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = {
    { "pyramid", 0, "N", "friction as a polyhedral cone with N directions (Stewart-Trinkle)" },
    { "box", 0, NULL, "circular cones as the boxes around them" },
    { "pure", 0, NULL, "bounds and free rows as a pure LCP" },
    { "form", 0, NULL, "form A of a factored problem" },
    { "json", 0, NULL, "one JSON object on stdout" },
    { 0 }
  };
  static const perp_cli cli = {
    "lcp convert",
    "FILE [OUTPUT]",
    "Turns a problem into another format, by the suffix of OUTPUT (.lcp, .mtx, .hdf5), or into "
    "another kind. Without OUTPUT: .lcp on stdout.",
    NULL,
    "perp lcp convert Capsules.dat capsules.lcp --pyramid 8",
    flags,
    1,
    2
  };
  perp_args args;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  int64_t directions = 0;
  if ((status = perp_lcp_whole(ctx, &args, "pyramid", 4, 64, &directions)) >= 0) return status;
  bool json = perp_args_get(&args, "json") != NULL;
  bool box = perp_args_get(&args, "box") != NULL, pure = perp_args_get(&args, "pure") != NULL;
  if (box && directions > 0) return perp_usage_error(&args, "either --box or --pyramid");
  perp_lcp_problem p, q;
  if ((status = perp_lcp_open(ctx, args.arg[0], &p)) >= 0) return status;
  const char *unused = perp_lcp_needs(&p.p) & (PERP_LCP_FRICTION | PERP_LCP_CONE) ? NULL
                       : directions > 0                                           ? "--pyramid"
                       : box                                                      ? "--box"
                                                                                  : NULL;
  if (unused != NULL) {
    status = perp_usage_error(&args, "%s has no effect: %s has no friction rows; leave it out",
                              unused, args.arg[0]);
    perp_lcp_problem_free(&p);
    return status;
  }
  perp_status made = PERP_OK;
  if (box) {
    made = perp_lcp_boxes(ctx, &p, 1, &q);
    swap_in(&p, &q);
  }
  if (made == PERP_OK && (perp_args_get(&args, "form") != NULL || directions > 0 || pure || json)) {
    made = perp_lcp_problem_form(ctx, &p, &q);
    swap_in(&p, &q);
  }
  if (made == PERP_OK && directions > 0) {
    made = perp_lcp_pyramid(ctx, &p, (int)directions, &q);
    swap_in(&p, &q);
  }
  if (made == PERP_OK && pure) {
    perp_lcp_map *map;
    made = perp_lcp_pure(ctx, &p, &q, &map);
    perp_lcp_map_free(map);
    swap_in(&p, &q);
  }
  if (made != PERP_OK) {
    perp_lcp_problem_free(&p);
    return perp_lcp_refuse(ctx, made);
  }
  status = PERP_EXIT_OK;
  if (json)
    write_json(&p);
  else
    status = write_problem(ctx, &p, args.n > 1 ? args.arg[1] : NULL);
  perp_lcp_problem_free(&p);
  return status;
}

/* ---- info --------------------------------------------------------------------------------------------------------- */

int perp_cmd_lcp_info(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = { { "json", 0, NULL, "one JSON object" }, { 0 } };
  static const perp_cli cli = {
    "lcp info",
    "FILE",
    "What is in a problem file: rows by kind, symmetry, diagonal, known solution.",
    NULL,
    "perp lcp info wall.lcp",
    flags,
    1,
    1
  };
  perp_args args;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  perp_lcp_problem q;
  if ((status = perp_lcp_open(ctx, args.arg[0], &q)) >= 0) return status;
  const perp_lcp *p = &q.p;
  int n = p->n, nv = p->F != NULL ? p->F->nv : 0, contact = 0, box = 0, fixed = 0, free_rows = 0;
  int friction = 0, cones = 0, zero_diagonal = 0;
  long long entries = 0;
  for (int i = 0; i < n; i++) {
    if (p->fric_of != NULL && p->fric_of[i] >= 0) {
      friction++;
      cones += p->cone != NULL && p->cone[i];
    } else {
      double lo = p->lo != NULL ? p->lo[i] : 0, hi = p->hi != NULL ? p->hi[i] : HUGE_VAL;
      if (lo == hi)
        fixed++;
      else if (lo == -HUGE_VAL && hi == HUGE_VAL)
        free_rows++;
      else if (lo == 0 && hi == HUGE_VAL)
        contact++;
      else
        box++;
    }
    for (int k = 0; p->A != NULL && k < n; k++)
      entries += p->A[(size_t)i + (size_t)k * (size_t)p->lda] != 0;
    if (p->A != NULL) zero_diagonal += p->A[(size_t)i * ((size_t)p->lda + 1)] == 0;
  }
  perp_lcp_judgement g = { .rel = (double)NAN };
  if (q.solution != NULL) {
    double *scratch = perp_xalloc(PERP_LCP_SCRATCH(n, nv) + 1, sizeof *scratch);
    perp_lcp_judge(p, q.solution, NULL, scratch, &g);
    free(scratch);
  }
  double asymmetry = perp_lcp_asymmetry(p);
  int *room = perp_xalloc(3 * (size_t)n + 1, sizeof *room);
  perp_stewart pyramids = { .ptr = room, .rows = room + n + 1, .home = room + 2 * n + 1 };
  perp_status known = perp_stewart_find(ctx, p, &pyramids);
  free(room);
  if (known != PERP_OK) {
    perp_lcp_problem_free(&q);
    return perp_lcp_refuse(ctx, known);
  }
  if (perp_args_get(&args, "json") != NULL) {
    perp_json j = { .out = stdout, .indent = true };
    perp_json_open(&j, NULL, '{');
    perp_json_text(&j, "family", q.family);
    perp_json_text(&j, "provenance", q.provenance);
    perp_json_int(&j, "n", n);
    perp_json_text(&j, "storage", p->F != NULL ? "factored" : "dense");
    perp_json_int(&j, "nonzeros", entries);
    perp_json_int(&j, "contact", contact);
    perp_json_int(&j, "box", box);
    perp_json_int(&j, "free", free_rows);
    perp_json_int(&j, "fixed", fixed);
    perp_json_int(&j, "friction", friction);
    perp_json_int(&j, "cones", cones);
    perp_json_int(&j, "zero_diagonal", zero_diagonal);
    perp_json_int(&j, "stewart_trinkle", pyramids.contacts);
    perp_json_real(&j, "asymmetry", asymmetry);
    perp_json_bool(&j, "has_solution", q.solution != NULL);
    if (q.solution != NULL) perp_json_real(&j, "solution_residual", g.rel);
    perp_json_close(&j, '}');
    printf("\n");
  } else {
    if (q.family[0]) printf("family      %s\n", q.family);
    if (q.provenance != NULL) printf("provenance  %s\n", q.provenance);
    printf("rows        %d: %d contact, %d box, %d free, %d fixed, %d friction (%d cones)\n", n,
           contact, box, free_rows, fixed, friction, cones);
    if (p->F != NULL)
      printf("A           J M^-1 J' + S, %d columns, %d blocks, %d groups\n", nv, p->F->nb,
             p->F->nc);
    else
      printf("A           %lld of %lld not zero, asymmetry %.3g, %d zeros on the diagonal\n",
             entries, (long long)n * n, asymmetry, zero_diagonal);
    if (pyramids.contacts > 0)
      printf("contacts    %d of Stewart and Trinkle, as %s\n", pyramids.contacts,
             p->contact_of != NULL ? "the file says" : "the zeros of A show");
    if (q.solution != NULL) printf("solution    known, residual %.3g\n", g.rel);
  }
  perp_lcp_problem_free(&q);
  return PERP_EXIT_OK;
}
