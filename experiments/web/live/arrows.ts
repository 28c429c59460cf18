// SPDX-License-Identifier: GPL-3.0-or-later
// How long the arrows of impulses are: the usual impulse has one length, which follows slowly, so that arrows of two steps can
// be compared.
import { CONTACT } from './module';

export class ArrowScale {
  private usual = 0;

  // Metres for each N s; length: m, of a usual one.
  next(contacts: Float64Array, n: number, length: number): { perNs: number; longest: number } {
    const sizes: number[] = [];
    for (let i = 0; i < n; i++) {
      const at = i * CONTACT + 3, s = Math.hypot(contacts[at], contacts[at + 1], contacts[at + 2]);
      if (s > 0) sizes.push(s);
    }
    if (sizes.length > 0) {
      sizes.sort((a, b) => a - b);
      const now = sizes[Math.floor(0.75 * (sizes.length - 1))];
      this.usual = this.usual > 0 ? this.usual * (now / this.usual) ** 0.05 : now;
    }
    return { perNs: this.usual > 0 ? length / this.usual : 0, longest: 1.6 * length };
  }
}
