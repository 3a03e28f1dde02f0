import { TrituneError } from '#base/errors.ts';
import { NumberRing } from './ring.ts';

type State = 'absent' | 'idle' | 'busy';

/**
 * The instances of a model, numbered from 0: idle ones in the order in which they became idle, and
 * busy ones. The one that has been idle longest is taken first, so that all of them get work.
 */
export class Instances {
  readonly #idle = new NumberRing();
  readonly #states: State[] = [];
  /** The wanted number of instances. A busy one beyond it ends with its execution. */
  count = 0;
  busy = 0;

  constructor(count: number) {
    this.resize(count);
  }

  get idle(): number {
    return this.#idle.length;
  }

  take(): number {
    const instance = this.#idle.shift();
    this.#states[instance] = 'busy';
    this.busy++;
    return instance;
  }

  release(instance: number): void {
    if (this.#states[instance] !== 'busy') {
      throw new TrituneError(
        'INTERNAL',
        `instance ${instance} is not executing, so its execution cannot end`,
        'this is a defect of tritune: please report it',
      );
    }
    this.busy--;
    this.#states[instance] = instance < this.count ? 'idle' : 'absent';
    if (instance < this.count) this.#idle.push(instance);
  }

  resize(count: number): void {
    this.count = count;
    for (let left = this.#idle.length; left > 0; left--) {
      const instance = this.#idle.shift();
      if (instance < count) this.#idle.push(instance);
      else this.#states[instance] = 'absent';
    }
    for (let instance = 0; instance < count; instance++) {
      if ((this.#states[instance] ?? 'absent') !== 'absent') continue;
      this.#states[instance] = 'idle';
      this.#idle.push(instance);
    }
  }
}
