/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sequences of problems: what is carried over, by hand and against what a simulation itself begins
 * with; joined problems; files. */
#include "experiments/lcp/harvest_sequence.h"
#include "experiments/lcp/sequence_run.h"
#include "experiments/scenes/scene_file.h"
#include "solvers/solvers.h"
#include "tests/lcp_random.h"
#include "tests/run_model.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

static perp_ctx ctx;

/* ---- by hand ---- */

/* Before: contacts X (rows 0 ... 2) and Y (3 ... 5).  Now: Y, its tangents turned by 30 degrees,
 * and Z.  X is gone, Z is born. */
static void make_pair(perp_lcp_problem *p)
{
  const double c = cos(M_PI / 6), s = sin(M_PI / 6);
  const perp_lcp_carry carry[] = {
    { 0, 3, 1 }, { 1, 4, c }, { 1, 5, s }, { 2, 4, -s }, { 2, 5, c }
  };
  if (perp_lcp_problem_new(&ctx, 6, PERP_PART_A | PERP_PART_BOUNDS | PERP_PART_CONE, p) != PERP_OK)
    bail("%s", ctx.msg);
  perp_lcp_arrays x = perp_lcp_edit(p);
  for (int i = 0; i < 6; i++) {
    x.A[7 * i] = 1;
    x.b[i] = -i - 1;
    if (i % 3 == 0) continue;
    x.fric_of[i] = i - i % 3;
    x.mu[i] = 0.5;
    x.cone[i] = i % 3 == 1;
  }
  snprintf(p->sequence.name, sizeof p->sequence.name, "by hand");
  p->sequence.number = 1;
  p->sequence.of = 2;
  if (perp_lcp_problem_carry(&ctx, p, 6, 5, carry) != PERP_OK) bail("%s", ctx.msg);
}

static double apart(int n, const double *x, const double *y)
{
  double worst = 0;
  for (int i = 0; i < n; i++) worst = fmax(worst, fabs(x[i] - y[i]));
  return worst;
}

static void check_by_hand(void)
{
  perp_lcp_problem p;
  double lambda[6];
  int born, gone;
  make_pair(&p);
  /* an impulse of 2 along the first tangent of before is one of (2 cos 30, -2 sin 30) now */
  perp_lcp_carry_over(&p, (const double[]){ 7, 8, 9, 5, 2, 0 }, lambda);
  ok(apart(6, lambda, (const double[]){ 5, sqrt(3), -1, 0, 0, 0 }) < 1e-15,
     "an impulse stays what it is in the world; nothing of what is gone, nothing for what is born");
  perp_lcp_carry_over(&p, (const double[]){ 7, 8, 9, -5, 2, 0 }, lambda);
  ok(lambda[0] == 0 && fabs(lambda[1] - sqrt(3)) < 1e-15,
     "a contact does not pull; its friction is left as it is");
  perp_lcp_edit(&p).hi[0] = 3;
  perp_lcp_carry_over(&p, (const double[]){ 7, 8, 9, 5, 2, 0 }, lambda);
  ok(lambda[0] == 3, "the guess keeps within the bounds");
  ok(perp_lcp_carry_count(&ctx, &p, &born, &gone) == PERP_OK && born == 3 && gone == 3,
     "three rows are born, three are gone");
  const perp_lcp_carry wrong[] = { { 0, 6, 1 }, { 6, 0, 1 }, { 0, 0, (double)NAN } };
  for (int k = 0; k < 3; k++)
    ok(perp_lcp_problem_carry(&ctx, &p, 6, 1, &wrong[k]) == PERP_ERR_ARG && p.sequence.n == 5,
       "refused: %s", ctx.msg);
  perp_lcp_problem_free(&p);
}

static bool same_carries(const perp_lcp_problem *p, const perp_lcp_problem *q)
{
  const perp_lcp_sequence *s = &p->sequence, *t = &q->sequence;
  bool same = strcmp(s->name, t->name) == 0 && s->number == t->number && s->of == t->of &&
              s->rows == t->rows && s->n == t->n;
  for (int k = 0; k < s->n && same; k++)
    same = s->carry[k].to == t->carry[k].to && s->carry[k].from == t->carry[k].from &&
           s->carry[k].c == t->carry[k].c;
  return same;
}

static void check_copies(void)
{
  perp_lcp_problem p, q;
  char *text;
  size_t size;
  make_pair(&p);
  FILE *m = open_memstream(&text, &size);
  if (perp_lcp_write(&ctx, &p, m) != PERP_OK) bail("%s", ctx.msg);
  fclose(m);
  ok(perp_lcp_read_memory(&ctx, "f", text, size, &q) == PERP_OK && same_carries(&p, &q),
     "a problem of a sequence reads back as it was");
  perp_lcp_problem_free(&q);
  int accepted = 0;
  for (size_t cut = 0; cut + 4 < size; cut++)
    if (perp_lcp_read_memory(&ctx, "f", text, cut, &q) == PERP_OK) {
      accepted++;
      perp_lcp_problem_free(&q);
    }
  ok(accepted == 0, "no prefix of it passes for the whole");
  free(text);
  ok(perp_lcp_problem_copy(&ctx, &p, &q) == PERP_OK && same_carries(&p, &q) &&
         q.sequence.carry != p.sequence.carry,
     "a copy has carries of its own");
  /* rows in another order: contact Z first */
  const double before[] = { 7, 8, 9, 5, 2, 1 };
  const int perm[] = { 3, 4, 5, 0, 1, 2 };
  double x[6], y[6];
  perp_lcp_carry_over(&p, before, x);
  ok(perp_lcp_problem_permute(&ctx, &q, perm) == PERP_OK, "permuted");
  perp_lcp_carry_over(&q, before, y);
  ok(apart(3, x, y + 3) == 0 && apart(3, x + 3, y) == 0, "... carries go with their rows");
  perp_lcp_problem_free(&q);
  perp_lcp_problem_free(&p);
}

/* ---- files ---- */

static void check_refusals(void)
{
#define N2 "n 2\nA dense\n2 1\n1 2\nb\n-1\n-1\n"
  static const struct {
    const char *text, *message;
  } cases[] = {
    { "perp-lcp 1\nsequence 1 2 s\n" N2 "end\n",
      "f:10: section before is missing: it relates the rows of problem 1" },
    { "perp-lcp 1\nsequence 0 2 s\n" N2 "before 2 0\nend\n",
      "f:11: section before needs a previous problem" },
    { "perp-lcp 1\n" N2 "before 2 0\nend\n", "(section sequence is missing)" },
    { "perp-lcp 1\nsequence 2 2 s\n" N2,
      "f:2: problem 2 of a sequence of 2: problems are counted from 0" },
    { "perp-lcp 1\nsequence -1 2 s\n" N2,
      "f:2: the number of a problem in its sequence must be in" },
    { "perp-lcp 1\nsequence 0 2\n" N2, "f:2: a sequence needs a name" },
    { "perp-lcp 1\nsequence 0\n2 s\n" N2, "f:2: a sequence needs a name" },
    { "perp-lcp 1\nsequence 1 2 s\n" N2 "before 2 1\n2 0 1\nend\n",
      "f:11: a row must be in [0, 1], got 2" },
    { "perp-lcp 1\nsequence 1 2 s\n" N2 "before 2 1\n0 2 1\nend\n",
      "f:11: a row of the previous problem must be in [0, 1], got 2" },
    { "perp-lcp 1\nsequence 1 2 s\n" N2 "before 2 1\n0 1 nan\nend\n",
      "f:11: the factor of a carry is NaN" },
    { "perp-lcp 1\nsequence 1 2 s\n" N2 "before 2 3\n0 1 1\n1 1 1\n0 1 2\nend\n",
      "f:13: the carry to row 0 from row 1 is specified twice" },
    { "perp-lcp 1\nsequence 1 2 s\n" N2 "before 2 2000000000\n0 1 1\nend\n",
      "f:12: the file ends too early" },
    { "perp-lcp 1\nsequence 1 2 s\n" N2 "before -2 0\nend\n",
      "f:10: the number of rows of the previous problem must be" },
    { "perp-lcp 1\nbefore 1 0\n" N2 "end\n", "f:2: section before must follow section n" },
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    perp_lcp_problem p;
    ctx.msg[0] = '\0';
    const perp_status status = perp_lcp_read_memory(&ctx, "f", cases[k].text, strlen(cases[k].text),
                                                    &p);
    if (!ok(status == PERP_ERR_FORMAT && strstr(ctx.msg, cases[k].message) != NULL &&
                strchr(ctx.msg, '\n') == NULL && p.p.n == 0,
            "refused: %s", cases[k].message))
      tap_note("status %s: %s\n", perp_status_name(status), ctx.msg);
  }
}

/* ---- joined ---- */

static void check_join(void)
{
  static const char *const families[] = { "stack-cone", "stack", "stack-box" };
  for (int dense = 0; dense < 2; dense++) {
    perp_lcp_problem part[3], all, form;
    int n = 0, at = 0;
    double worst = 0;
    for (int i = 0; i < 3; i++) {
      const perp_lcp_family *f = perp_lcp_family_find(families[i]);
      const perp_lcp_recipe r = { .family = families[i],
                                  .n = perp_lcp_family_rows(f, 24 * (i + 1)),
                                  .seed = 1,
                                  .factored = f->factored && !(dense && i == 1) };
      if (perp_lcp_generate(&ctx, &r, &part[i]) != PERP_OK) bail("%s", ctx.msg);
      n += part[i].p.n;
    }
    if (perp_lcp_join(&ctx, part, 3, &all) != PERP_OK) bail("%s", ctx.msg);
    ok(all.p.n == n &&
           (all.p.F != NULL) == (part[0].p.F != NULL && part[1].p.F != NULL && part[2].p.F != NULL),
       "%d rows, %s", n, all.p.F != NULL ? "factored" : "dense");
    if (perp_lcp_problem_form(&ctx, &all, &form) != PERP_OK) bail("%s", ctx.msg);
    bool rows = true;
    for (int i = 0; i < 3; at += part[i++].p.n) {
      perp_lcp_problem one;
      if (perp_lcp_problem_form(&ctx, &part[i], &one) != PERP_OK) bail("%s", ctx.msg);
      for (int k = 0; k < one.p.n; k++) {
        const int fric = one.p.fric_of != NULL ? one.p.fric_of[k] : -1;
        double lo, hi, lo2, hi2;
        perp_lcp_bounds(&one.p, one.p.b, k, &lo, &hi);
        perp_lcp_bounds(&form.p, form.p.b, at + k, &lo2, &hi2);
        rows = rows && lo == lo2 && hi == hi2 && form.p.b[at + k] == one.p.b[k] &&
               form.p.fric_of[at + k] == (fric < 0 ? -1 : at + fric) &&
               form.p.cone[at + k] == (one.p.cone != NULL ? one.p.cone[k] : 0);
        for (int l = 0; l < n; l++) {
          const double a = l < at || l >= at + one.p.n
                               ? 0
                               : one.p.A[k + (size_t)(l - at) * (size_t)one.p.lda];
          worst = fmax(worst, fabs(form.p.A[at + k + (size_t)l * (size_t)n] - a));
        }
      }
      perp_lcp_problem_free(&one);
    }
    ok(worst < 1e-14 && rows, "... the matrices on the diagonal (%.2g), rows as they were", worst);
    perp_lcp_problem_free(&form);
    perp_lcp_problem_free(&all);
    for (int i = 0; i < 3; i++) perp_lcp_problem_free(&part[i]);
  }
}

/* ---- against the simulation ---- */

extern const perp_lcp_desc perp_lcp_block_gs;
/* block-gs that tells what it begins with */
enum { CALLS = 400, ROWS = 400 };
static perp_lcp_desc recorder;
static const perp_plugin recorder_table[] = { { PERP_KIND_lcp, &recorder.d },
                                              { PERP_KIND_NONE, NULL } };
static double guess[CALLS][ROWS];
static int guess_rows[CALLS], calls;

static perp_status recorder_solve(perp_ctx *c, void *ws, const perp_lcp *p, double *lambda,
                                  double *certificate, perp_stats *stats)
{
  if (calls < CALLS && p->n <= ROWS) {
    memcpy(guess[calls], lambda, (size_t)p->n * sizeof *lambda);
    guess_rows[calls] = p->n;
  }
  calls++;
  return perp_lcp_block_gs.solve(c, ws, p, lambda, certificate, stats);
}

/* What the simulation begins with is what the file says, in a heap with births, deaths and tangents
 * that turn.  Where it begins with 0 it has thrown its guess away (drop_bad_guess in
 * contact_solver.c). */
static void check_simulation(const char *scene, const char *contact, double h, double from, int n,
                             bool births)
{
  char dir[] = "/tmp/perp-sequence-XXXXXX", prefix[64];
  if (mkdtemp(dir) == NULL) bail("%s", dir);
  snprintf(prefix, sizeof prefix, "%s/s", dir);
  perp_spec spec;
  perp_scene s;
  perp_sequence sequence;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, scene, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &s) != PERP_OK)
    bail("%s", ctx.msg);
  /* one problem a step: no reuse, no second look at contacts that were left out, no second
   * solution, nothing afterwards */
  perp_sim *sim = run_start(
      &ctx, s.model,
      (run_parts){ .lcp = "recorder",
                   .stab = "baumgarte",
                   .contact = contact,
                   .formulation = "velocity:reuse=false,gap=false,choice=none" },
      h);
  const perp_harvest_wish wish = { .scene = spec.d->name,
                                   .name = "s",
                                   .command = scene,
                                   .dir = dir,
                                   .n = n,
                                   .from = from,
                                   .t_end = from + h * (n + 1),
                                   .tol = HUGE_VAL };
  calls = 0;
  fflush(stdout);
  const int kept = dup(1), none = open("/dev/null", O_WRONLY); /* its table is no TAP */
  dup2(none, 1);
  const perp_status harvested = perp_harvest_sequence(&ctx, sim, &wish);
  fflush(stdout);
  dup2(kept, 1);
  close(kept);
  close(none);
  if (harvested != PERP_OK) bail("%s", ctx.msg);
  perp_sim_destroy(sim);
  if (perp_sequence_open(&ctx, prefix, &sequence) != PERP_OK) bail("%s", ctx.msg);
  double worst = 0, turned = 0;
  int compared = 0, dropped = 0, call = calls;
  static double mine[ROWS];
  /* the last calls are those of the sequence: an island each */
  for (int k = sequence.n - 1; k > 0; k--) {
    const perp_lcp_problem *p = &sequence.problem[k];
    perp_lcp_carry_over(p, sequence.problem[k - 1].solution, mine);
    for (int c = 0; c < p->sequence.n; c++) {
      const perp_lcp_carry *x = &p->sequence.carry[c];
      if ((x->to - x->from) % 3 != 0) turned = fmax(turned, fabs(x->c));
    }
    double largest = 0;
    for (int i = 0; i < p->p.n; i++) largest = fmax(largest, fabs(mine[i]));
    for (int end = p->p.n; end > 0; end -= guess_rows[call]) {
      call--;
      if (call < 0 || guess_rows[call] > end)
        bail("call %d has not the rows of problem %d", call, k);
      double size = 0, off = 0;
      for (int i = 0; i < guess_rows[call]; i++) {
        size = fmax(size, fabs(guess[call][i]));
        off = fmax(off, fabs(guess[call][i] - mine[end - guess_rows[call] + i]));
      }
      if (size == 0) {
        dropped++;
        continue;
      }
      worst = fmax(worst, off / largest);
      compared++;
    }
  }
  ok(compared >= n / 2 && worst < 1e-14,
     "%s, %s: %d guesses are what the simulation begins with, to %.2g (%d that it drops)", scene,
     contact, compared, worst, dropped);
  if (births)
    ok(sequence.born > 0 && sequence.gone > 0 && turned > 1e-6,
       "... of %d rows that are born and %d that are gone, and tangents that turn (%.2g)",
       sequence.born, sequence.gone, turned);
  perp_sequence_close(&sequence);
  perp_scene_destroy(&s);
  perp_spec_free(&spec);
  char *words;
  if (asprintf(&words, "rm -r %s", dir) < 0 || system(words) != 0) bail("%s", dir);
  free(words);
}

/* ---- cold and warm ---- */

/* A problem twice: the second is solved by the answer of the first, so that a warm start takes no
 * sweep. */
static void check_march(void)
{
  static const char *const methods[] = { "psor", "dantzig", "interior-point" };
  char dir[] = "/tmp/perp-sequence-XXXXXX", prefix[64];
  if (mkdtemp(dir) == NULL) bail("%s", dir);
  snprintf(prefix, sizeof prefix, "%s/twice", dir);
  const perp_lcp_recipe r = { .family = "spd", .n = 16, .seed = 3 };
  for (int k = 0; k < 2; k++) {
    perp_lcp_problem p;
    perp_lcp_carry same[16];
    char path[80];
    if (perp_lcp_generate(&ctx, &r, &p) != PERP_OK) bail("%s", ctx.msg);
    for (int i = 0; i < 16; i++) same[i] = (perp_lcp_carry){ i, i, 1 };
    strcpy(p.sequence.name, "twice");
    p.sequence.number = k;
    p.sequence.of = 2;
    if (perp_lcp_problem_carry(&ctx, &p, 16 * k, 16 * k, same) != PERP_OK) bail("%s", ctx.msg);
    snprintf(path, sizeof path, "%s-%03d.lcp", prefix, k);
    FILE *f = fopen(path, "w");
    if (f == NULL || perp_lcp_write(&ctx, &p, f) != PERP_OK || fclose(f) != 0) bail("%s", path);
    perp_lcp_problem_free(&p);
  }
  for (int m = 0; m < 3; m++) {
    perp_spec spec;
    perp_sequence s;
    perp_lcp_solver *solver;
    perp_sequence_answer cold[2], warm[2];
    if (perp_spec_parse(&ctx, PERP_KIND_lcp, methods[m], &spec) != PERP_OK ||
        perp_sequence_open(&ctx, prefix, &s) != PERP_OK ||
        perp_lcp_create(&ctx, &spec, s.rows, s.columns, &solver) != PERP_OK ||
        perp_sequence_begin(&ctx, solver, 1e-10, &s, cold) != PERP_OK ||
        perp_sequence_march(&ctx, solver, 1e-10, false, &s, cold) != PERP_OK ||
        perp_sequence_march(&ctx, solver, 1e-10, true, &s, warm) != PERP_OK)
      bail("%s", ctx.msg);
    const perp_sequence_sums a = perp_sequence_sum(&s, cold), b = perp_sequence_sum(&s, warm);
    ok(perp_sequence_solved(&cold[0]) && perp_sequence_solved(&cold[1]) &&
           perp_sequence_solved(&warm[1]) && cold[0].stats.iterations == cold[1].stats.iterations,
       "%s: solved, cold and warm; the same problem takes the same", methods[m]);
    if (m < 2)
      ok(a.iterations > 5 && b.iterations == 0 && b.work < 0.7 * a.work &&
             perp_sequence_warms(spec.d),
         "... from its answer no iteration of %g, and %.3g of the work", a.iterations,
         b.work / a.work);
    else
      ok(!perp_sequence_warms(spec.d), "... and says that it does not profit from a guess");
    perp_lcp_destroy(solver);
    perp_sequence_close(&s);
    perp_spec_free(&spec);
  }
  char *words;
  if (asprintf(&words, "rm -r %s", dir) < 0 || system(words) != 0) bail("%s", dir);
  free(words);
}

int main(void)
{
  perp_ctx_init(&ctx);
  recorder = perp_lcp_block_gs;
  recorder.d.name = "recorder";
  recorder.solve = recorder_solve;
  /* sweeps are handed the best multiple of a guess, others the guess */
  recorder.d.caps &= ~(unsigned)(PERP_LCP_BY_ROWS | PERP_LCP_CONE_BLOCKS);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK ||
      perp_register(&ctx, recorder_table) != PERP_OK)
    bail("%s", ctx.msg);
  check_by_hand();
  check_copies();
  check_refusals();
  check_join();
  check_march();
  check_simulation("falling:objects=8,side=2", "cone", 0.02, 0.9, 12, true);
  check_simulation("falling:objects=8,side=2", "box", 0.02, 0.9, 12, true);
  check_simulation("card-house:mu=0.15,dim=3", "cone", 1.0 / 240, 0.4, 12, false);
  check_simulation("arch:voussoirs=7,thickness=0.09", "frictionless", 0.02, 0, 6, false);
  return tap_done();
}
