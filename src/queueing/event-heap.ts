/**
 * Future events, the earliest first; simultaneous ones in the order in which they were added. A
 * binary heap on flat arrays.
 */
export class EventHeap {
  #times = new Float64Array(8);
  #orders = new Float64Array(8);
  #subjects = new Int32Array(8);
  #added = 0;
  length = 0;

  /** Time of the earliest event; Infinity when there is none. */
  get nextNs(): number {
    return this.length === 0 ? Number.POSITIVE_INFINITY : (this.#times[0] as number);
  }

  /** The earliest event's subject, without removing it. The heap must not be empty. */
  get first(): number {
    return this.#subjects[0] as number;
  }

  add(atNs: number, subject: number): void {
    if (this.length === this.#times.length) this.#grow();
    const order = this.#added++;
    let child = this.length++;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if ((this.#times[parent] as number) <= atNs) break;
      this.#move(parent, child);
      child = parent;
    }
    this.#set(child, atNs, order, subject);
  }

  /** Removes the earliest event and returns its subject. The heap must not be empty. */
  take(): number {
    const subject = this.#subjects[0] as number;
    const last = --this.length;
    const atNs = this.#times[last] as number;
    const order = this.#orders[last] as number;
    const moved = this.#subjects[last] as number;
    let parent = 0;
    for (;;) {
      let child = 2 * parent + 1;
      if (child >= last) break;
      if (child + 1 < last && this.#isBefore(child + 1, this.#times[child] as number, this.#orders[child] as number)) {
        child++;
      }
      if (!this.#isBefore(child, atNs, order)) break;
      this.#move(child, parent);
      parent = child;
    }
    this.#set(parent, atNs, order, moved);
    return subject;
  }

  #isBefore(index: number, atNs: number, order: number): boolean {
    const time = this.#times[index] as number;
    return time < atNs || (time === atNs && (this.#orders[index] as number) < order);
  }

  #move(from: number, to: number): void {
    this.#set(to, this.#times[from] as number, this.#orders[from] as number, this.#subjects[from] as number);
  }

  #set(index: number, atNs: number, order: number, subject: number): void {
    this.#times[index] = atNs;
    this.#orders[index] = order;
    this.#subjects[index] = subject;
  }

  #grow(): void {
    const [times, orders, subjects] = [this.#times, this.#orders, this.#subjects];
    this.#times = new Float64Array(2 * times.length);
    this.#orders = new Float64Array(2 * times.length);
    this.#subjects = new Int32Array(2 * times.length);
    this.#times.set(times);
    this.#orders.set(orders);
    this.#subjects.set(subjects);
  }
}
