// SPDX-License-Identifier: GPL-3.0-or-later
// Debian's three.js (r111) as the pages use it: buffer geometries, colours given in sRGB and mixed linearly, lights in
// physical units, and a colour for each of many instances, which that version has not.
import * as three from 'three.module.js';
import { BufferAttribute, BufferGeometry, Color, InstancedBufferAttribute, InstancedMesh as Instanced, LatheBufferGeometry, Object3D, sRGBEncoding, Vector2, WebGLRenderer as Renderer } from 'three.module.js';

export {
  Box3, BoxBufferGeometry as BoxGeometry, BufferAttribute, BufferGeometry, CanvasTexture, CircleBufferGeometry as CircleGeometry, Color,
  ConeBufferGeometry as ConeGeometry, Curve, CylinderBufferGeometry as CylinderGeometry, DirectionalLight, DoubleSide, EdgesGeometry, Float32BufferAttribute,
  GridHelper, Group, HemisphereLight, Line, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial, PCFShadowMap, PerspectiveCamera,
  PlaneBufferGeometry as PlaneGeometry, Quaternion, Scene, ShadowMaterial, SphereBufferGeometry as SphereGeometry, Sprite, SpriteMaterial,
  sRGBEncoding, TubeBufferGeometry as TubeGeometry, Vector3, WireframeGeometry,
} from 'three.module.js';
export { OrbitControls } from 'jsm/controls/OrbitControls.js';
export { ConvexBufferGeometry as ConvexGeometry } from 'jsm/geometries/ConvexGeometry.js';

// '#77aadd' and 0x77aadd are what a screen shows; light is added in linear values
const { setHex, setStyle } = Color.prototype;
let within = false; // setStyle of a name calls setHex
Color.prototype.setHex = function (v) {
  setHex.call(this, v);
  return within ? this : this.convertSRGBToLinear();
};
Color.prototype.setStyle = function (v) {
  within = true;
  setStyle.call(this, v);
  within = false;
  return this.convertSRGBToLinear();
};
Object3D.prototype.applyMatrix4 = Object3D.prototype.applyMatrix;
BufferGeometry.prototype.applyMatrix4 = BufferGeometry.prototype.applyMatrix;

// Along y, as a cylinder.
export class CapsuleGeometry extends LatheBufferGeometry {
  constructor(radius, length, caps, round) {
    const quarter = (k, up) => {
      const a = (k / caps) * (Math.PI / 2);
      return up ? new Vector2(radius * Math.cos(a), length / 2 + radius * Math.sin(a)) : new Vector2(radius * Math.sin(a), -length / 2 - radius * Math.cos(a));
    };
    super([false, true].flatMap((up) => Array.from({ length: caps + 1 }, (_, k) => quarter(k, up))), round);
  }
}

export class MeshStandardMaterial extends three.MeshStandardMaterial {
  constructor(parameters) {
    super({ roughness: 1, metalness: 0, ...parameters });
  }
}

// A material has one program, so that this one is for instances only; it takes their colours once there are any.
export class InstancedMesh extends Instanced {
  constructor(geometry, material, count) {
    super(geometry, material.clone(), count);
  }

  setColorAt(k, colour) {
    if (!this.instanceColor) {
      this.geometry = this.geometry.clone();
      this.instanceColor = new InstancedBufferAttribute(new Float32Array(3 * this.count), 3);
      this.geometry.setAttribute('tint', this.instanceColor);
      if (!this.geometry.attributes.color) this.geometry.setAttribute('color', new BufferAttribute(new Float32Array(3 * this.geometry.attributes.position.count).fill(1), 3));
      this.material.vertexColors = true;
      this.material.onBeforeCompile = (shader) => {
        shader.vertexShader = shader.vertexShader.replace('#include <common>', 'attribute vec3 tint;\n#include <common>').replace('#include <color_vertex>', 'vColor.xyz = color.xyz * tint;');
      };
    }
    colour.toArray(this.instanceColor.array, 3 * k);
    this.instanceColor.needsUpdate = true;
  }
}

export class WebGLRenderer extends Renderer {
  constructor(parameters) {
    super(parameters);
    this.physicallyCorrectLights = true;
    this.gammaOutput = true;
    this.gammaFactor = 2.2;
  }
}

// The colours of a picture are those of a screen.
export function screenColours(texture) {
  texture.encoding = sRGBEncoding;
  return texture;
}
