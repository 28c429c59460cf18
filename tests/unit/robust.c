/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Comparing timings: known answers, and how often it errs on noise that looks like ours. */
#include "experiments/results/robust.h"
#include "tests/tap.h"

static perp_ctx ctx;

static void known(void)
{
  perp_shift s;
  ok(perp_shift_of(&ctx, NULL, 0, 0, 1000, &s) == PERP_OK && s.pairs == 0 && isnan(s.ratio),
     "no pairs: no ratio");
  double base[4] = { 4, 3, 2, 1 }, now[4] = { 5, 6, 7, 8 };
  perp_pair pair = { 4, 4, base, now };
  perp_shift_of(&ctx, &pair, 1, 0, 1000, &s);
  near(s.ratio, 5, 0, 1e-15, "the ratio of the minima");
  ok(s.lo >= 5.0 / 4 && s.hi <= 8 && s.lo <= s.hi,
     "the interval holds ratios of rounds only: %g ... %g", s.lo, s.hi);
  /* U = 16 of 16: z = 8 / sqrt(16 * 9 / 12) = 4 / sqrt(3) */
  near(s.p_slower, 0.5 * erfc(4 / sqrt(3) / sqrt(2)), 1e-15, 1e-12,
       "Mann-Whitney, fully separated");
  near(s.p_slower + s.p_faster, 1, 1e-15, 0, "the two sides add up to 1");
  perp_pair same = { 4, 4, base, base };
  perp_shift_of(&ctx, &same, 1, 0, 1000, &s);
  ok(s.ratio == 1 && fabs(s.p_slower - 0.5) < 1e-15, "equal rounds: ratio 1, p = 1/2");
  perp_shift again;
  perp_shift_of(&ctx, &pair, 1, 0, 1000, &s);
  perp_shift_of(&ctx, &pair, 1, 0, 1000, &again);
  ok(s.lo == again.lo && s.hi == again.hi, "the interval comes again");
  perp_shift_of(&ctx, &pair, 1, 0, 0, &again);
  ok(again.ratio == s.ratio && again.p_slower == s.p_slower && isnan(again.lo) && isnan(again.hi),
     "without draws: no interval, all else the same");
  perp_shift_of(&ctx, &pair, 1, 0.25, 0, &again);
  near(again.ratio, 5.75 / 1.75, 0, 1e-15, "the ratio of the lower quartiles");
}

static void known_blocks(void)
{
  perp_shift s;
  ok(perp_shift_of_blocks(&ctx, NULL, 0, 1000, &s) == PERP_OK && s.pairs == 0 && isnan(s.ratio) &&
         perp_shift_verdict(&s, 0.1) == 0,
     "no blocks: no ratio, no verdict");
  double d[5] = { 0.2, 0.1, -0.3, 0.4, 0.5 };
  perp_blocks_of_cell cell = { 5, d };
  perp_shift_of_blocks(&ctx, &cell, 1, 1000, &s);
  near(s.ratio, exp(0.2), 0, 1e-15, "the median of the blocks");
  /* ranks 2 1 3 4 5: W = 12 of 15, z = (12 - 7.5) / sqrt(5 * 6 * 11 / 24) */
  near(s.p_slower, 0.5 * erfc(4.5 / sqrt(13.75) / sqrt(2)), 1e-15, 1e-12, "Wilcoxon's test");
  double mirror[5] = { -0.2, -0.1, 0.3, -0.4, -0.5 };
  perp_shift back;
  perp_blocks_of_cell other = { 5, mirror };
  perp_shift_of_blocks(&ctx, &other, 1, 0, &back);
  near(back.p_faster, s.p_slower, 1e-15, 1e-12, "... and its mirror image");
  near(back.ratio * s.ratio, 1, 0, 1e-15, "... with the inverse ratio");
  perp_shift v = { .ratio = 1.2, .lo = 1.1, .hi = 1.3, .p_slower = 1e-4, .p_faster = 1 };
  ok(perp_shift_verdict(&v, 0.1) == 1 && perp_shift_verdict(&v, 0.3) == 0, "slower");
  v.lo = 1.04;
  ok(perp_shift_verdict(&v, 0.1) == 0, "an interval that nearly holds 1: nothing");
  v.lo = 1.1, v.p_slower = 0.002;
  ok(perp_shift_verdict(&v, 0.1) == 0, "a test that doubts: nothing");
  v = (perp_shift){ .ratio = 0.8, .lo = 0.7, .hi = 0.9, .p_slower = 1, .p_faster = 1e-4 };
  ok(perp_shift_verdict(&v, 0.1) == -1, "faster");
}

/* A run that others disturb: x (1 + 2 % normal), and one round in five up to 60 % slower. */
static double disturbed(perp_rng *rng, double x)
{
  double noise = 1 + 0.02 * perp_rng_normal(rng);
  if (perp_rng_uniform(rng, 0, 1) < 0.2) noise *= perp_rng_uniform(rng, 1, 1.6);
  return x * noise;
}

static int flagged(double factor, int trials, int cells, int rounds)
{
  enum { CELLS = 32, ROUNDS = 16 };
  static double base[CELLS][ROUNDS], now[CELLS][ROUNDS];
  perp_rng *rng = perp_rng_create(11);
  int n = 0;
  for (int t = 0; t < trials; t++) {
    perp_pair pair[CELLS];
    for (int c = 0; c < cells; c++) {
      for (int k = 0; k < rounds; k++) {
        base[c][k] = disturbed(rng, 1 + c);
        now[c][k] = disturbed(rng, factor * (1 + c));
      }
      pair[c] = (perp_pair){ rounds, rounds, base[c], now[c] };
    }
    perp_shift s;
    perp_shift_of(&ctx, pair, cells, 0, 1000, &s);
    n += perp_shift_verdict(&s, 0.1) == 1;
  }
  perp_rng_destroy(rng);
  return n;
}

int main(void)
{
  perp_ctx_init(&ctx);
  known();
  known_blocks();
  static const struct {
    double factor;
    int cells, rounds, lo, hi;
  } cases[] = { { 1, 12, 3, 0, 0 },
                { 1, 1, 7, 0, 0 },
                { 1.05, 12, 5, 0, 0 },
                { 1.2, 12, 3, 97, 100 },
                { 1.2, 6, 7, 97, 100 } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int n = flagged(cases[i].factor, 100, cases[i].cells, cases[i].rounds);
    ok(n >= cases[i].lo && n <= cases[i].hi,
       "%g times slower, %d cells of %d rounds: %d of 100 flagged", cases[i].factor, cases[i].cells,
       cases[i].rounds, n);
  }
  return tap_done();
}
