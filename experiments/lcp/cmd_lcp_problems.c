/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp lcp generate, perp lcp convert, perp lcp info */
#include "experiments/lcp/lcp_cmd.h"
#include "solvers/lcp/io/convert.h"
#include "solvers/lcp/io/io.h"
#include "solvers/lcp/stewart.h"
#include "experiments/base/json.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- output ---- */

/* A vector, or the number that stands for all of it where there is none. */
static void problem_reals(perp_json *json, const char *key, const double *x, double none, int n)
{
  perp_json_open(json, key, '[');
  for (int i = 0; i < n; i++) perp_json_real(json, NULL, x != NULL ? x[i] : none);
  perp_json_close(json, ']');
}

static void write_json(const perp_lcp_problem *problem)
{
  const perp_lcp *lcp = &problem->p;
  int n = lcp->n;
  perp_json json = { .out = stdout };
  perp_json_members(&json, "{ family %s", problem->family);
  if (problem->provenance != NULL) perp_json_text(&json, "provenance", problem->provenance);
  perp_json_members(&json, "n %d, A: [", n);
  for (int i = 0; i < n; i++) {
    perp_json_open(&json, NULL, '[');
    for (int k = 0; k < n; k++)
      perp_json_real(&json, NULL, lcp->A[(size_t)i + (size_t)k * (size_t)lcp->lda]);
    perp_json_close(&json, ']');
  }
  perp_json_close(&json, ']');
  perp_json_reals(&json, "b", lcp->b, n);
  problem_reals(&json, "lo", lcp->lo, 0, n);
  problem_reals(&json, "hi", lcp->hi, HUGE_VAL, n);
  perp_json_open(&json, "friction_of", '[');
  for (int i = 0; i < n; i++)
    perp_json_int(&json, NULL, lcp->fric_of != NULL ? lcp->fric_of[i] : -1);
  perp_json_close(&json, ']');
  problem_reals(&json, "mu", lcp->fric_of != NULL ? lcp->mu : NULL, 0, n);
  if (lcp->cone != NULL) {
    perp_json_open(&json, "cone", '[');
    for (int i = 0; i < n; i++) perp_json_int(&json, NULL, lcp->cone[i]);
    perp_json_close(&json, ']');
  }
  if (lcp->unit != NULL) perp_json_reals(&json, "unit", lcp->unit, n);
  if (lcp->contact_of != NULL) perp_json_ints(&json, "contact_of", lcp->contact_of, n);
  if (lcp->frozen) perp_json_bool(&json, "frozen", true);
  if (problem->solution != NULL)
    perp_json_reals(&json, "solution", problem->solution, n);
  else
    perp_json_text(&json, "solution", NULL);
  perp_json_close(&json, '}');
  printf("\n");
}

static bool ends_with(const char *text, const char *end)
{
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

static int put_problem(perp_ctx *ctx, const perp_lcp_problem *problem, const char *path, bool json)
{
  if (!json) {
    /* To a file by its suffix, or .lcp text to stdout. */
    const bool fclib = path != NULL && (ends_with(path, ".hdf5") || ends_with(path, ".h5"));
    const bool to_stdout = path == NULL || (!fclib && strcmp(path, "-") == 0);
    perp_out out = { .f = stdout };
    const char *name;
    perp_status status = to_stdout ? PERP_OK
                         : fclib   ? perp_out_open_named(ctx, path, &out, &name)
                                   : perp_out_open(ctx, path, &out);
    if (status == PERP_OK && fclib)
      status = perp_lcp_write_fclib(ctx, problem, name);
    else if (status == PERP_OK)
      status = path != NULL && ends_with(path, ".mtx") ? perp_lcp_write_mtx(ctx, problem, out.f)
                                                       : perp_lcp_write(ctx, problem, out.f);
    const perp_status closed = to_stdout ? PERP_OK : perp_out_close(ctx, &out, status == PERP_OK);
    if (status == PERP_OK) status = closed;
    return status == PERP_OK ? PERP_EXIT_OK : perp_lcp_refuse(ctx, status);
  }
  write_json(problem);
  return PERP_EXIT_OK;
}

/* ---- generate ---- */

/* *p is freed and replaced by *q, what was made of it. */
static perp_status swap_in(perp_lcp_problem *p, perp_lcp_problem *q, perp_status made)
{
  perp_lcp_problem_free(p);
  *p = *q;
  return made;
}

static void list_families(bool json)
{
  const perp_lcp_family *family;
  perp_json out = { .out = stdout, .indent = true };
  if (json) perp_json_open(&out, NULL, '[');
  for (int i = 0; (family = perp_lcp_family_at(i)) != NULL; i++) {
    if (!json)
      printf("  %-17s %s\n", family->name, family->summary);
    else
      perp_json_object(
          &out, NULL,
          "name %s, summary %s, least %d, most %d, boxes? %d, factored? %d, solvable? %d",
          family->name, family->summary, family->least, family->most, family->contact,
          family->factored, (family->classes & PERP_CLASS_SOLVABLE) != 0);
  }
  if (json) {
    perp_json_close(&out, ']');
    printf("\n");
  }
}

/* Bytes from which on generate says what it takes. */
#define LARGE 1e8

static int cmd_lcp_generate(perp_ctx *ctx, const perp_args *args)
{
  bool json = perp_option_given(args, "json");
  if (perp_option_given(args, "list")) {
    list_families(json);
    return PERP_EXIT_OK;
  }
  if (args->n != 1)
    return perp_usage_error(args, "the family is missing (perp lcp generate --list)");
  int64_t n = 0, boxes = 0, seed = 1;
  perp_lcp_recipe recipe = { .family = args->arg[0], .scale = 1 };
  int status = perp_option_int(ctx, args, "n", 1, INT32_MAX / 2, &n);
  if (status < 0) status = perp_option_int(ctx, args, "boxes", 1, INT32_MAX / 2, &boxes);
  if (status < 0) status = perp_option_int(ctx, args, "seed", 0, INT64_MAX, &seed);
  if (status < 0) status = perp_option_real(ctx, args, "scale", "", false, &recipe.scale);
  if (status < 0) status = perp_lcp_memory(ctx, args);
  if (status >= 0) return status;
  if (n > 0 && boxes > 0) return perp_usage_error(args, "either --n or --boxes");
  const perp_lcp_family *family = perp_lcp_family_find(recipe.family);
  if (family != NULL && n > 0) {
    recipe.n = perp_lcp_family_rows(family, (int)n);
    if (recipe.n != n)
      perp_say("%s has no problem with %d rows; the nearest has %d", family->name, (int)n,
               recipe.n);
  } else if (family != NULL && !family->contact)
    recipe.n = perp_lcp_family_rows(family, 16);
  recipe.boxes = (int)boxes;
  recipe.seed = (uint64_t)seed;
  recipe.permute = perp_option_given(args, "permute");
  recipe.factored = perp_option_given(args, "factored");
  if (family != NULL && !family->seeded && !recipe.permute && perp_option_given(args, "seed"))
    return perp_usage_error(args, "--seed has no effect: nothing in %s is random; leave it out",
                            family->name);
  if (recipe.factored && (recipe.permute || json))
    return perp_usage_error(args, "--factored cannot be combined with --permute or --json");
  const double takes = perp_lcp_recipe_memory(&recipe);
  if (takes > LARGE) perp_say("%s needs up to %.3g MB", recipe.family, takes / 1e6);
  perp_lcp_problem problem;
  perp_status made = perp_lcp_generate(ctx, &recipe, &problem);
  if (made == PERP_OK && json && problem.p.C != NULL) {
    perp_lcp_problem formed;
    made = swap_in(&problem, &formed, perp_lcp_problem_form(ctx, &problem, &formed));
  }
  if (made != PERP_OK) return perp_lcp_refuse(ctx, made);
  status = put_problem(ctx, &problem, perp_args_get(args, "output"), json);
  perp_lcp_problem_free(&problem);
  return status;
}

static const perp_flag lcp_generate_flags[] = {
  { "n", 'n', "N", "Number of rows; the nearest number that the family has is used." },
  { "boxes", 0, "K", "Number of boxes of a contact family." },
  { "seed", 0, "S", "Seed of random families and of --permute (default: 1)." },
  { "permute", 0, NULL, "Permute the rows randomly." },
  { "scale", 0, "S", "Scale A and b by S, which does not change the solutions." },
  { "factored", 0, NULL, "Store the factors J and M^-1 instead of A." },
  { "list", 0, NULL, "List the families." },
  { "json", 0, NULL, "Print one JSON object instead of a .lcp file." },
  PERP_LCP_MEMORY_FLAG,
  { "output", 'o', "FILE", "Output file .lcp, .mtx or .hdf5 (default: standard output)." },
  { 0 }
};

const perp_command perp_lcp_generate_command = {
  .cli.name = "lcp generate",
  .cli.usage = "FAMILY [--n N|--boxes K]",
  .cli.summary =
      "Generates a problem of a family. The same options give the same problem on every machine.",
  .cli.more =
      "Above 2000 rows A is sparse in the families american-put, obstacle, bearing, poisson, "
      "tridiag and ahn; contact families have --factored. These have up to 6e6 rows, the "
      "others 20000.",
  .cli.example = "perp lcp generate wall --boxes 60 --seed 3 --permute > wall.lcp\n"
                 "  perp lcp generate obstacle --n 90000 | perp lcp solve - --json",
  .cli.flags = lcp_generate_flags,
  .cli.max_args = 1,
  .summary = "Generate a problem of a family",
  .run = cmd_lcp_generate
};

/* ---- convert ---- */

static int cmd_lcp_convert(perp_ctx *ctx, const perp_args *args)
{
  int64_t directions = 0;
  int status = perp_option_int(ctx, args, "pyramid", 3, 64, &directions);
  if (status < 0) status = perp_lcp_memory(ctx, args);
  if (status >= 0) return status;
  bool json = perp_option_given(args, "json");
  bool box = perp_option_given(args, "box"), pure = perp_option_given(args, "pure");
  if (box && directions > 0)
    return perp_usage_error(args, "--box and --pyramid contradict each other; use one of them");
  perp_lcp_problem p, q;
  status = perp_lcp_open(ctx, args->arg[0], &p);
  if (status >= 0) return status;
  const char *unused = perp_lcp_needs(&p.p) & (PERP_LCP_FRICTION | PERP_LCP_CONE) ? NULL
                       : directions > 0                                           ? "--pyramid"
                       : box                                                      ? "--box"
                                                                                  : NULL;
  if (unused != NULL) {
    status = perp_usage_error(args, "%s has no effect: %s has no friction rows; leave it out",
                              unused, args->arg[0]);
    perp_lcp_problem_free(&p);
    return status;
  }
  perp_lcp_map *map = NULL;
  perp_status made = PERP_OK;
  if (box) made = swap_in(&p, &q, perp_lcp_boxes(ctx, &p, 1, &q));
  if (made == PERP_OK && (perp_option_given(args, "form") || directions > 0 || pure || json))
    made = swap_in(&p, &q, perp_lcp_problem_form(ctx, &p, &q));
  if (made == PERP_OK && directions > 0)
    made = swap_in(&p, &q, perp_lcp_pyramid(ctx, &p, (int)directions, &q));
  if (made == PERP_OK && pure) made = swap_in(&p, &q, perp_lcp_pure(ctx, &p, &q, &map));
  perp_lcp_map_free(map);
  status = made == PERP_OK ? put_problem(ctx, &p, args->n > 1 ? args->arg[1] : NULL, json)
                           : perp_lcp_refuse(ctx, made);
  perp_lcp_problem_free(&p);
  return status;
}

static const perp_flag lcp_convert_flags[] = {
  { "pyramid", 0, "N",
    "Replace friction cones by polyhedral cones with N directions (Stewart-Trinkle)." },
  { "box", 0, NULL, "Replace circular friction cones by boxes." },
  { "pure", 0, NULL, "Convert bounds and free rows to a pure LCP." },
  { "form", 0, NULL, "Form a dense A of a factored or sparse problem." },
  { "json", 0, NULL, "Print one JSON object on standard output." },
  PERP_LCP_MEMORY_FLAG,
  { 0 }
};

const perp_command perp_lcp_convert_command = {
  .cli.name = "lcp convert",
  .cli.usage = "FILE [OUTPUT]",
  .cli.summary = "Converts a problem to another format (given by the suffix of OUTPUT: .lcp, .mtx, "
                 ".hdf5) or to another kind. Without OUTPUT it writes .lcp to standard output.",
  .cli.example = "perp lcp convert problems/stack-n60-1.lcp pyramids.lcp --pyramid 8",
  .cli.flags = lcp_convert_flags,
  .cli.min_args = 1,
  .cli.max_args = 2,
  .summary = "Convert a problem to another format or kind",
  .run = cmd_lcp_convert
};

/* ---- info ---- */

static int cmd_lcp_info(perp_ctx *ctx, const perp_args *args)
{
  perp_lcp_problem problem;
  int status = perp_lcp_memory(ctx, args);
  if (status < 0) status = perp_lcp_open(ctx, args->arg[0], &problem);
  if (status >= 0) return status;
  const perp_lcp *lcp = &problem.p;
  int n = lcp->n, nv = lcp->F != NULL ? lcp->F->nv : 0, contact = 0, box = 0, fixed = 0,
      free_rows = 0;
  int friction = 0, cones = 0, zero_diagonal = 0;
  long long entries = 0;
  for (int i = 0; i < n; i++) {
    if (lcp->fric_of != NULL && lcp->fric_of[i] >= 0) {
      friction++;
      cones += lcp->cone != NULL && lcp->cone[i];
    } else {
      double lo = lcp->lo != NULL ? lcp->lo[i] : 0, hi = lcp->hi != NULL ? lcp->hi[i] : HUGE_VAL;
      if (lo == hi)
        fixed++;
      else if (lo == -HUGE_VAL && hi == HUGE_VAL)
        free_rows++;
      else if (lo == 0 && hi == HUGE_VAL)
        contact++;
      else
        box++;
    }
    for (int k = 0; lcp->A != NULL && k < n; k++)
      entries += lcp->A[(size_t)i + (size_t)k * (size_t)lcp->lda] != 0;
    if (lcp->F == NULL) zero_diagonal += perp_lcp_entry(lcp, i, i) == 0;
  }
  if (lcp->C != NULL) entries = lcp->C->start[n];
  perp_lcp_judgement judgement = { .rel = (double)NAN };
  if (problem.solution != NULL) {
    perp_pool pool = { 0 };
    perp_lcp_judge(lcp, problem.solution, NULL, perp_lcp_room(&pool, lcp), &judgement);
    perp_pool_free(&pool);
  }
  double asymmetry = perp_lcp_asymmetry(lcp);
  int *room = perp_xalloc(3 * (size_t)n + 1, sizeof *room);
  perp_stewart pyramids = { .ptr = room, .rows = room + n + 1, .home = room + 2 * n + 1 };
  perp_status known = perp_stewart_find(ctx, lcp, &pyramids);
  free(room);
  const perp_lcp_sequence *sequence = &problem.sequence;
  int born = 0, gone = 0;
  if (known == PERP_OK) known = perp_lcp_carry_count(ctx, &problem, &born, &gone);
  if (known != PERP_OK) {
    perp_lcp_problem_free(&problem);
    return perp_lcp_refuse(ctx, known);
  }
  if (perp_option_given(args, "json")) {
    perp_json json = { .out = stdout, .indent = true };
    perp_json_members(
        &json,
        "{ family %s, provenance %s, n %d, storage %s, nonzeros %lld, contact %d, box "
        "%d, free %d, fixed %d, friction %d, cones %d, zero_diagonal %d, "
        "stewart_trinkle %d, asymmetry %g, has_solution? %d",
        problem.family, problem.provenance, n,
        lcp->F != NULL   ? "factored"
        : lcp->C != NULL ? "sparse"
                         : "dense",
        entries, contact, box, free_rows, fixed, friction, cones, zero_diagonal, pyramids.contacts,
        asymmetry, problem.solution != NULL);
    if (problem.solution != NULL)
      perp_json_real(&json, "solution_residual", perp_lcp_residual(&problem.p, &judgement));
    if (sequence->name[0])
      perp_json_object(&json, "sequence", "name %s, number %d, of %d", sequence->name,
                       sequence->number, sequence->of);
    if (sequence->number > 0)
      perp_json_object(&json, "before", "rows %d, carries %d, born %d, gone %d", sequence->rows,
                       sequence->n, born, gone);
    perp_json_close(&json, '}');
    printf("\n");
  } else {
    if (problem.family[0]) printf("family      %s\n", problem.family);
    if (problem.provenance != NULL) printf("provenance  %s\n", problem.provenance);
    printf("rows        %d: %d contact, %d box, %d free, %d fixed, %d friction (%d cones)\n", n,
           contact, box, free_rows, fixed, friction, cones);
    if (lcp->F != NULL)
      printf("A           J M^-1 J' + S, %d columns, %d blocks, %d groups\n", nv, lcp->F->nb,
             lcp->F->nc);
    else
      printf("A           %s%lld of %lld not zero, asymmetry %.3g, %d zeros on the diagonal\n",
             lcp->C != NULL ? "sparse, " : "", entries, (long long)n * n, asymmetry, zero_diagonal);
    if (pyramids.contacts > 0)
      printf("contacts    %d of Stewart and Trinkle, as %s\n", pyramids.contacts,
             lcp->contact_of != NULL ? "given in the file" : "inferred from the zeros of A");
    if (problem.solution != NULL)
      printf("solution    known, residual %.3g\n", perp_lcp_residual(&problem.p, &judgement));
    if (sequence->name[0])
      printf("sequence    %s: problem %d of 0 ... %d\n", sequence->name, sequence->number,
             sequence->of - 1);
    if (sequence->number > 0)
      printf("previous    %d rows, of which %d are gone; %d rows are new\n", sequence->rows, gone,
             born);
  }
  perp_lcp_problem_free(&problem);
  return PERP_EXIT_OK;
}

static const perp_flag lcp_info_flags[] = { { "json", 0, NULL, "Print one JSON object." },
                                            PERP_LCP_MEMORY_FLAG,
                                            { 0 } };

const perp_command perp_lcp_info_command = {
  .cli.name = "lcp info",
  .cli.usage = "FILE",
  .cli.summary = "Describes a problem file: rows by kind, symmetry, diagonal, known solution.",
  .cli.example = "perp lcp info wall.lcp",
  .cli.flags = lcp_info_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Describe a problem file",
  .run = cmd_lcp_info
};
