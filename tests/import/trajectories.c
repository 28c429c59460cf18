/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Motions of imported models over half a second, without contacts, against MuJoCo's: both by a
 * method of fourth order, at steps where neither has an error of this size. */
#include "tests/cli/program.h"

#include <mujoco/mujoco.h>

static const double tol = 1e-8, t_end = 0.5;

static const char *path_of(const char *file)
{
  const char *source = getenv("PERP_SOURCE");
  return perp_xprintf("%s/tests/import/models/%s", source != NULL ? source : ".", file);
}

/* MuJoCo's motion: centre of mass and orientation of body r with all that is welded to it. */
static void its_pose(const mjModel *m, const mjData *d, int r, double x[7])
{
  double mass = 0;
  memset(x, 0, 3 * sizeof *x);
  for (int b = r; b < m->nbody; b++) {
    if (m->body_weldid[b] != r) continue;
    mass += m->body_mass[b];
    for (int i = 0; i < 3; i++) x[i] += m->body_mass[b] * d->xipos[3 * b + i];
  }
  for (int i = 0; i < 3; i++) x[i] /= mass;
  memcpy(x + 3, d->xquat + 4 * r, 4 * sizeof *x);
}

static void compare(const char *file, const char *twin, const char *key)
{
  char message[1000] = "",
       *command = perp_xprintf("import %s %s %s -o motion.yaml", path_of(file),
                               key != NULL ? "--key" : "", key != NULL ? key : "");
  if (!ok(run(command) == 0, "%s is imported", file)) complain();
  json_t *j = json_of("simulate motion.yaml --formulation acceleration --ode rk4 --stab none --h "
                      "1ms --t-end 0.5s --json",
                      0);
  const json_t *q = json_object_get(json_object_get(j, "final"), "q");
  mjModel *m = mj_loadXML(path_of(twin != NULL ? twin : file), NULL, message, sizeof message);
  if (m == NULL) bail("%s: %s", file, message);
  mjData *d = mj_makeData(m);
  if (key != NULL) mj_resetDataKeyframe(m, d, mj_name2id(m, mjOBJ_KEY, key));
  m->opt.integrator = mjINT_RK4;
  m->opt.timestep = 1. / 16384;
  m->opt.disableflags |= mjDSBL_CONTACT;
  const int steps = (int)(t_end / m->opt.timestep + 0.5);
  for (int i = 0; i < steps; i++) mj_step(m, d);
  mj_kinematics(m, d);
  double most = 0;
  int n = 0;
  for (int b = 1; b < m->nbody; b++) {
    double x[7], dot = 0, own[7];
    if (m->body_weldid[b] != b) continue;
    its_pose(m, d, b, x);
    for (int i = 0; i < 7; i++) own[i] = json_number_value(json_array_get(q, (size_t)(7 * n + i)));
    for (int i = 3; i < 7; i++) dot += own[i] * x[i];
    for (int i = 0; i < 7; i++) most = fmax(most, fabs(own[i] - (i < 3 || dot > 0 ? x[i] : -x[i])));
    n++;
  }
  ok((int)json_array_size(q) == 7 * n, "%s: %d bodies", file, n);
  below(most, tol, "%s: after %g s all are where MuJoCo has them, %.1e", file, t_end, most);
  json_decref(j);
  mj_deleteData(d);
  mj_deleteModel(m);
  free(command);
}

/* A servo and a spring on a tendon of two slides that an equality ties, rigidly: an oscillator in
 * closed form.  With q_a = -2 q_b the length is l = -1.8 q_b, and of the servo 2 l:
 *
 *      (4 m_a + m_b) q'' = -1.8 (2 (12 u + 1 - 12 2 l - 0.4 2 l') - 7 (l - 0.2) - 0.3 l') */
static void tied(void)
{
  char *command = perp_xprintf("import %s -o tied.yaml", path_of("mjcf/tied.xml"));
  if (!ok(run(command) == 0 && strstr(err, "lost:") == NULL, "a servo on a tendon of tied joints"))
    complain();
  json_t *j = json_of(
      "simulate tied.yaml:grip=0.6 --formulation acceleration --ode rk4 --stab none "
      "--h 1ms --t-end 0.5s --json",
      0);
  const json_t *q = json_object_get(json_object_get(j, "final"), "q");
  const double m = 4 * 0.3 + 0.5, G = -1.8, u = 0.6, t = 0.5, k = G * G * (2 * 24 + 7),
               c = G * G * (2 * 0.8 + 0.3), f = G * (2 * (12 * u + 1) + 7 * 0.2), rest = f / k,
               w = sqrt(k / m - c * c / (4 * m * m)), start = -0.05 - rest,
               b = rest + exp(-c * t / (2 * m)) *
                              (start * cos(w * t) + start * c / (2 * m * w) * sin(w * t)),
               y[2] = { json_number_value(json_array_get(q, 1)),
                        json_number_value(json_array_get(q, 8)) };
  ok(fabs(b + 0.05) > 0.01, "it moves by %.3g m", b + 0.05);
  below(fabs(y[1] - (b + 0.05)), 1e-10, "as the oscillator, %.1e m", fabs(y[1] - (b + 0.05)));
  below(fabs(y[0] - (-2 * b - 0.1)), 1e-10, "and the other slide, %.1e m",
        fabs(y[0] - (-2 * b - 0.1)));
  json_decref(j);
  free(command);
}

int main(void)
{
  program_open();
  compare("mjcf/pendulums.xml", NULL, "go");
  compare("mjcf/armature.xml", NULL, "go");
  compare("mjcf/chains.xml", NULL, "go");
  compare("mjcf/slide-ball.xml", NULL, "go");
  compare("robots/chains.urdf", "robots/chains.xml", NULL);
  compare("mjcf/armature-legs.xml", NULL, "go");
  compare("mjcf/fixed-tendons.xml", NULL, "go");
  compare("mjcf/axes.xml", NULL, "go");
  compare("mjcf/frames.xml", "mjcf/frames-flat.xml", NULL);
  compare("mjcf/keyframes.xml", NULL, "far");
  compare("mjcf/orientations.xml", NULL, NULL);
  compare("mjcf/inertial.xml", NULL, NULL);
  compare("mjcf/total-mass.xml", NULL, NULL);
  compare("mjcf/replicate.xml", "mjcf/replicate-flat.xml", NULL);
  tied();
  program_close();
  return tap_done();
}
