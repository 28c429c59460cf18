/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A problem without a solution: a link that a hinge along x holds overlaps the world along x, so
 * that nothing can separate them. A run says so once, its links hold, and what it spends on the
 * problem is bounded: counted in multiply-adds, of which one problem may have 1e9 (option
 * `budget`). */
#include "tests/cli/program.h"

#include <math.h>

static const double budget = 1e9; /* multiply-adds */

static void write_robot(const char *file, double depth, double half, double friction, double angle)
{
  char text[2000];
  snprintf(text, sizeof text,
           "<mujoco><option timestep='.002'/><default><geom friction='%g'/></default><worldbody>\n"
           "<geom name='foot' type='box' size='.04 .04 .04'/>\n"
           "<body name='upper' pos='%g 0 0'><joint name='hip' axis='1 0 0' damping='.05'/>"
           "<geom type='box' size='%g .02 .07' pos='0 0 .07' mass='.3'/>\n"
           "<body name='lower' pos='%g 0 .14' euler='%g 0 0'><joint name='knee' axis='1 0 0' "
           "damping='.05'/>"
           "<geom type='box' size='%g .02 .15' pos='0 0 .15' "
           "mass='.4'/></body></body></worldbody></mujoco>\n",
           friction, 0.04 + half - depth, half, half, angle, half);
  write_file(file, text);
}

static int count(const char *text, const char *part)
{
  int n = 0;
  for (const char *s = text; (s = strstr(s, part)) != NULL; s++) n++;
  return n;
}

static double figure(const json_t *j, const char *name)
{
  return json_number_value(json_object_get(json_object_get(j, "metrics"), name));
}

static void said_once(void)
{
  const int status = run("simulate locked.xml --no-filter --t-end 8ms --rounds 0");
  ok(status == 9, "a problem without a solution: status unsolved, %d", status);
  ok(count(out, "push each") == 1 && count(out, "problems not solved") == 1,
     "the overlap and the problems are said once");
  ok(count(err, "overlap") == 0 && count(err, "solved") == 0, "and nowhere else");
  json_t *j = json_of("simulate locked.xml --no-filter --t-end 4ms --rounds 0 --json", 9);
  ok(json_array_size(json_object_get(j, "warnings")) == 1, "one warning");
  ok(figure(j, "lcp.rows.max") == 14, "14 rows: %g", figure(j, "lcp.rows.max"));
  json_decref(j);
}

static void bounded(const char *file)
{
  char *early = perp_xprintf("simulate %s --no-filter --t-end 20ms --rounds 0 --json", file),
       *late = perp_xprintf("simulate %s --no-filter --t-end 40ms --rounds 0 --json", file);
  json_t *a = json_of(early, 9), *b = json_of(late, 9);
  const double first = figure(a, "lcp.work"), all = figure(b, "lcp.work"),
               step = (all - first) / (figure(b, "steps") - figure(a, "steps"));
  ok(all < budget, "%s: %g steps cost %.2g multiply-adds, less than one problem may", file,
     figure(b, "steps"), all);
  ok(step < 0.02 * budget, "%s: after 10 steps a step costs %.2g, less than 2 %% of the budget",
     file, step);
  ok(figure(b, "drift.pos.max") < 1e-4, "%s: links hold to %.1g m", file,
     figure(b, "drift.pos.max"));
  json_decref(a);
  json_decref(b);
  free(early);
  free(late);
}

int main(void)
{
  program_open();
  write_robot("locked.xml", 0.02, 0.02, 0.6, 25);
  write_robot("deep.xml", 0.03, 0.025, 0.3, -15);
  said_once();
  bounded("locked.xml");
  bounded("deep.xml");
  program_close();
  return tap_done();
}
