/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints between rigid bodies of Bullet.  Coordinates of its hinges are those of its first body against the second,
 * those of its sliders of the second against the first. */
#include "models/engines/adapters/bullet.hpp"

#include <cmath>

namespace {

/* The frame of a joint at a body: the anchor, e_along = axis, e_next = across. */
btTransform joint_frame(const btVector3 &at, const btVector3 &axis, const btVector3 &across,
                        int along)
{
  btMatrix3x3 R;
  const btVector3 third = axis.cross(across);
  const btVector3 e[3] = { axis, across, third };
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++) R[i][(along + k) % 3] = e[k][i];
  return btTransform(R, at);
}

/* Both frames, which agree at the start but for what the joint leaves free. */
void joint_frames(const bullet_world &s, const perp_engine_joint &j, int along,
                  btTransform frame[2])
{
  const int body[2] = { j.a, j.b };
  const double *const anchor[2] = { j.anchor_a, j.anchor_b };
  const bool axes = j.kind != PERP_JOINT_FIXED && j.kind != PERP_JOINT_BALL;
  const btVector3 axis = axes ? bullet_vector(j.along) : btVector3(1, 0, 0);
  btVector3 across, third;
  btPlaneSpace1(axis, across, third);
  for (int k = 0; k < 2; k++) {
    const int b = body[k];
    btTransform start = btTransform::getIdentity();
    if (b >= 0)
      start = btTransform(bullet_turn(s.w->body[b].start.quat) * s.principal(b),
                          bullet_vector(s.w->body[b].start.x));
    const btMatrix3x3 back = start.getBasis().transpose();
    frame[k] = joint_frame(s.own(b, anchor[k]), back * axis, back * across, along);
  }
}

void hinge_drive(const bullet_world &s, btHingeConstraint &hinge, const perp_engine_drive &d)
{
  if (std::isfinite(d.lower) || std::isfinite(d.upper)) /* softness, bias factor: its defaults */
    hinge.setLimit(std::fmax(d.lower, -M_PI), std::fmin(d.upper, M_PI), 0.9, 0.3, d.restitution);
  if (d.max_force > 0) hinge.enableAngularMotor(true, d.velocity, d.max_force * s.w->h);
}

void slider_drive(btSliderConstraint &slider, const perp_engine_drive &d)
{
  if (std::isfinite(d.lower) || std::isfinite(d.upper)) {
    slider.setLowerLinLimit(std::fmax(d.lower, -1e10));
    slider.setUpperLinLimit(std::fmin(d.upper, 1e10));
    slider.setRestitutionLimLin(d.restitution);
  }
  if (d.max_force > 0) {
    slider.setPoweredLinMotor(true);
    slider.setTargetLinMotorVelocity(d.velocity);
    slider.setMaxLinMotorForce(d.max_force);
  }
}

/* Which of x, y, z and of the turns about them are free; x is the axis. */
btTypedConstraint *general(const bullet_world &s, btRigidBody &a, btRigidBody &b,
                           const btTransform frame[2], const char *free_ones)
{
  auto *joint = new btGeneric6DofSpring2Constraint(a, b, frame[0], frame[1]);
  for (int k = 0; k < 6; k++) {
    const bool free = free_ones[k] == '1';
    joint->setLimit(k, free ? 1 : 0, free ? -1 : 0);
    joint->setParam(BT_CONSTRAINT_STOP_ERP, s.o.erp, k);
    joint->setParam(BT_CONSTRAINT_STOP_CFM, s.o.cfm, k);
  }
  return joint;
}

perp_status joint_add(perp_ctx *ctx, bullet_world &s, int i)
{
  const perp_engine_joint &j = s.w->joint[i];
  btRigidBody &ground = btTypedConstraint::getFixedBody();
  btRigidBody &a = j.a >= 0 ? *s.body[j.a] : ground, &b = j.b >= 0 ? *s.body[j.b] : ground;
  btTypedConstraint *joint = nullptr;
  btTransform f[2];
  const bool driven = j.kind == PERP_JOINT_HINGE || j.kind == PERP_JOINT_SLIDER;
  if (j.n_drives > 1 || (j.n_drives == 1 && !driven))
    return s.w->fail(ctx, PERP_ERR_UNSUPPORTED,
                     "the adapter of engine bullet supports limits and motors of hinges and "
                     "sliders only, with one actuator each");
  const perp_engine_drive *d = j.n_drives > 0 ? &s.w->drive[j.first_drive] : nullptr;
  joint_frames(s, j, j.kind == PERP_JOINT_HINGE ? 2 : 0, f);
  switch (j.kind) {
  case PERP_JOINT_BALL:
    joint = new btPoint2PointConstraint(a, b, f[0].getOrigin(), f[1].getOrigin());
    break;
  case PERP_JOINT_HINGE: {
    if (d != nullptr && (std::isfinite(d->lower) || std::isfinite(d->upper)) &&
        (d->lower < -M_PI || d->upper > M_PI) && !(std::isinf(d->lower) || std::isinf(d->upper)))
      return s.w->fail(ctx, PERP_ERR_UNSUPPORTED,
                       "engine bullet supports limits of a hinge within half a turn only");
    auto *hinge = new btHingeConstraint(b, a, f[1], f[0]);
    if (d != nullptr) hinge_drive(s, *hinge, *d);
    joint = hinge;
    break;
  }
  case PERP_JOINT_UNIVERSAL: {
    auto *universal = new btUniversalConstraint(a, b, bullet_vector(j.at), bullet_vector(j.along),
                                                bullet_vector(j.across));
    universal->setLimit(4, 1, -1);
    universal->setLimit(5, 1, -1);
    joint = universal;
    break;
  }
  case PERP_JOINT_SLIDER:
  case PERP_JOINT_CYLINDRICAL: {
    auto *slider = new btSliderConstraint(a, b, f[0], f[1], true);
    const bool turns = j.kind == PERP_JOINT_CYLINDRICAL;
    slider->setLowerAngLimit(turns ? 1 : 0);
    slider->setUpperAngLimit(turns ? -1 : 0);
    if (d != nullptr) slider_drive(*slider, *d);
    joint = slider;
    break;
  }
  case PERP_JOINT_LINE:
    joint = general(s, a, b, f, "100111");
    break;
  case PERP_JOINT_PLANAR:
    joint = general(s, a, b, f, "011100");
    break;
  default:
    joint = general(s, a, b, f, "000000");
    break;
  }
  s.joint.emplace_back(joint);
  s.world->addConstraint(joint, false);
  return PERP_OK;
}

} // namespace

perp_status bullet_joints(perp_ctx *ctx, bullet_world &s)
{
  for (int i = 0; i < s.w->n_joints; i++) PERP_TRY(joint_add(ctx, s, i));
  return PERP_OK;
}
