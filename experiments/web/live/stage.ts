// SPDX-License-Identifier: GPL-3.0-or-later
// Bodies of a run that is computed now, in the pictures of the recorded ones (../motion.ts): one frame, whose pose is that of the
// state. A ray from the mouse finds the body that is under it.
import { Raycaster } from 'three.module.js';
import { Actor, Contacts, Stage, stageSize } from '../motion';
import { BufferGeometry, Color, Group, Line, LineBasicMaterial, Vector3 } from '../three';
import { ArrowScale } from './arrows';
import { CONTACT, type Run } from './module';

const MOST = 512; // contacts that are drawn

export interface Hit {
  body: number;
  local: number[]; // where on it, in its frame
  at: any; // Vector3 in the world
}

export class LiveStage {
  stage: any;
  actor: any;
  env: any;
  d: any;
  private contacts: any;
  private arrows = new ArrowScale();
  private string: any; // from the body to the mouse
  private ray = new Raycaster();

  constructor(className: string) {
    this.stage = new Stage(className);
    this.stage.sun.shadow.mapSize.set(1024, 1024);
  }

  get canvas(): HTMLCanvasElement {
    return this.stage.canvas;
  }

  // The bodies of a run; keep: the camera stays where it is; poses: where they will be.
  show(run: Run, keep = false, poses: Float64Array[] = []) {
    const { stage } = this, model = run.model;
    stage.clear();
    // the last spring is that of the mouse
    this.d = { ...model, springs: model.playable ? model.springs.slice(0, -1) : model.springs, frames: 1, t: [0], per: model.dim === 3 ? 7 : 3, pose: Float64Array.from(run.q), contacts: [MOST], first: [0],
      contact: new Float64Array(6 * MOST), error: new Float64Array(3 * model.joints.length), refs: [], known: [0], loads: [] };
    if (!keep || !this.env) {
      const all = [this.d.pose, ...poses], film = Float64Array.from(all.flatMap((q) => [...q]));
      this.env = stageSize([{ ...this.d, frames: all.length, t: all.map((_, i) => i), pose: film, known: all.map(() => 0) }]);
    }
    stage.furnish(this.d, this.env);
    this.actor = new Actor(stage.root, this.d, this.env);
    this.contacts = new Contacts(stage.root, this.d, this.env);
    this.d.contacts[0] = 0;
    this.string = new Line(new BufferGeometry().setFromPoints([new Vector3(), new Vector3()]), new LineBasicMaterial({ color: new Color('#d55e00') }));
    this.string.frustumCulled = false;
    this.string.visible = false;
    const group = new Group();
    group.add(this.string);
    stage.root.add(group);
    this.actor.set(0);
    const pins = keep ? [] : model.joints.filter((j: any) => j.a < 0 || j.b < 0);
    if (pins.length === 1) { // it can swing around its only joint with the world
      const [x, y, z = 0] = pins[0].a < 0 ? pins[0].at_a : pins[0].at_b, p = new Vector3(x, y, z);
      this.env.spheres = [...this.env.spheres, { p, r: Math.max(...this.actor.position.map((q: any) => q.distanceTo(p))) + 0.5 * this.env.own }];
    }
    if (!keep) stage.fit({ d: this.d, env: this.env });
    stage.render();
  }

  draw(run: Run, arrows: boolean, n: number) {
    const { d } = this;
    d.pose.set(run.q);
    const contact = run.contacts(n), shown = arrows ? Math.min(n, MOST) : 0;
    for (let i = 0; i < shown; i++) for (let k = 0; k < 6; k++) d.contact[6 * i + k] = contact[CONTACT * i + k];
    d.contacts[0] = shown;
    const { perNs, longest } = this.arrows.next(contact, n, Math.min(0.16 * this.env.size, 1.3 * this.env.own));
    this.actor.set(0);
    this.contacts.set(0, perNs, longest);
    this.stage.render();
  }

  // From a point of a body to a point of the world; null: no string.
  pull(hit: Hit | null, to: any) {
    this.string.visible = hit !== null;
    if (!hit) return;
    const from = this.actor.anchor(hit.body, hit.local), place = this.string.geometry.attributes.position;
    place.setXYZ(0, from.x, from.y, from.z);
    place.setXYZ(1, to.x, to.y, to.z);
    place.needsUpdate = true;
  }

  private aim(e: { clientX: number; clientY: number }) {
    const b = this.canvas.getBoundingClientRect();
    this.stage.camera.updateMatrixWorld();
    this.ray.setFromCamera({ x: (2 * (e.clientX - b.left)) / b.width - 1, y: 1 - (2 * (e.clientY - b.top)) / b.height }, this.stage.camera);
    return this.ray.ray;
  }

  pick(e: { clientX: number; clientY: number }): Hit | null {
    this.aim(e);
    this.actor.group.updateMatrixWorld(true);
    let best: any = null, body = -1;
    this.actor.holder.forEach((holder: any, b: number) => {
      if (!holder) return;
      const hits = this.ray.intersectObject(holder, true).filter((i: any) => i.object.isMesh);
      if (hits.length > 0 && (!best || hits[0].distance < best.distance)) {
        best = hits[0];
        body = b;
      }
    });
    // what is drawn as ropes and cloths, or is small: the nearest body within a few pixels
    if (!best) {
      const ray = this.ray.ray, p = new Vector3();
      let least = 0.02 * this.env.size;
      this.actor.position.forEach((at: any, b: number) => {
        const away = ray.distanceToPoint(at);
        if (away < least) {
          least = away;
          body = b;
          best = { point: p.copy(at).clone() };
        }
      });
    }
    if (!best) return null;
    const at = best.point.clone();
    if (this.d.dim === 2) at.z = 0;
    const local = at.clone().sub(this.actor.position[body]).applyQuaternion(this.actor.turn[body].clone().inverse());
    const particle = this.d.bodies[body].particle;
    return { body, local: particle ? [0, 0, 0] : [local.x, local.y, this.d.dim === 2 ? 0 : local.z], at };
  }

  // Where the mouse is in the plane through a point that faces the camera; in the plane z = 0 of a plane scene.
  place(e: { clientX: number; clientY: number }, through: any) {
    const ray = this.aim(e), normal = this.d.dim === 2 ? new Vector3(0, 0, 1) : this.stage.camera.getWorldDirection(new Vector3()), foot = this.d.dim === 2 ? new Vector3() : through;
    const s = foot.clone().sub(ray.origin).dot(normal) / ray.direction.dot(normal);
    return ray.origin.clone().addScaledVector(ray.direction, s);
  }

  // From the camera towards the mouse: where a ball starts and its direction.
  shot(e: { clientX: number; clientY: number }) {
    const ray = this.aim(e), flat = this.d.dim === 2;
    if (flat) {
      const to = this.place(e, new Vector3()), from = new Vector3(this.env.low.x - 0.1 * this.env.size, Math.max(to.y, this.env.low.y + 0.2 * this.env.size), 0);
      return { x: [from.x, from.y, 0], direction: [to.x > from.x ? 1 : -1, 0, 0] };
    }
    const reach = ray.origin.distanceTo(this.stage.controls.target), from = ray.origin.clone().addScaledVector(ray.direction, 0.35 * reach);
    if (from.z < this.env.low.z + 0.1 * this.env.size) from.z = this.env.low.z + 0.1 * this.env.size;
    return { x: from.toArray(), direction: ray.direction.toArray() };
  }
}
