import { formatMessage } from '#base/errors.ts';
import { numericType } from '../input-data/data-types.ts';
import { CLOSED } from '../transports/outcome.ts';
import type {
  InferRequest,
  OutputTensor,
  PreparedRequest,
  ReplyOutputs,
  SendFailure,
  SendFailureKind,
  SendOutcome,
  SendSuccess,
  SharedOutput,
  Transport,
} from '../types.ts';
import { type OpenMemory, openMemory } from './memory.ts';
import type { SharedOutputs } from './shared-outputs.ts';

/**
 * Hands out numbers below `count` so that no two holders ever have the same one. The number
 * returned last is handed out next, so that few are ever in use. A number that the server may still
 * use comes last, the longest returned first.
 */
export class Slots {
  readonly #count: number;
  readonly #free: number[] = [];
  readonly #doubtful: number[] = [];
  #fresh = 0;

  constructor(count: number) {
    this.#count = count;
  }

  /** Returns -1 if all are held. */
  take(): number {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    if (this.#fresh < this.#count) return this.#fresh++;
    return this.#doubtful.shift() ?? -1;
  }

  giveBack(slot: number): void {
    this.#free.push(slot);
  }

  /** As `giveBack`, of a slot into which the server may still write. */
  giveBackInDoubt(slot: number): void {
    this.#doubtful.push(slot);
  }
}

interface SharingRequest<P> extends PreparedRequest {
  /** The inner transport's form, by the number of the slot for its outputs. */
  readonly bySlot: (P | undefined)[];
}

/** A place for the outputs of one request at a time. */
interface Holder {
  readonly slot: number;
  readonly done: (outcome: SendOutcome) => void;
  tell: (outcome: SendOutcome) => void;
}

const NO_SLOT: SendFailure = Object.freeze({
  ok: false,
  kind: 'refused',
  message: 'more requests are in flight than there is room for outputs in shared memory',
});

/** After these the server may still be working on the request and write outputs. */
const isDoubtful: ReadonlySet<SendFailureKind> = new Set<SendFailureKind>(['timeout', 'reset', 'malformed']);

/**
 * Sends over another transport, with the outputs of each request in a slot of shared memory that no
 * other request in flight has. A request is encoded once per slot.
 */
export class SharingTransport<P extends PreparedRequest> implements Transport<SharingRequest<P>> {
  readonly #inner: Transport<P>;
  readonly #place: SharedOutputs;
  readonly #slots: Slots;
  readonly #holders: (Holder | undefined)[] = [];
  readonly #memory: OpenMemory;
  #open = true;

  constructor(inner: Transport<P>, place: SharedOutputs) {
    this.#inner = inner;
    this.#place = place;
    this.#slots = new Slots(place.slots);
    this.#memory = openMemory(place.memory);
  }

  prepare(request: InferRequest): SharingRequest<P> {
    return { request, bySlot: [] };
  }

  send(prepared: SharingRequest<P>, done: (outcome: SendOutcome) => void): void {
    if (!this.#open) {
      done(CLOSED);
      return;
    }
    const slot = this.#slots.take();
    if (slot < 0) {
      done(NO_SLOT);
      return;
    }
    const holder = this.#holders[slot] ?? this.#newHolder(slot);
    if ('kind' in holder) {
      this.#slots.giveBack(slot);
      done(holder);
      return;
    }
    holder.tell = done;
    this.#inner.send(prepared.bySlot[slot] ?? this.#encoded(prepared, slot), holder.done);
  }

  async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.#inner.close();
    this.#memory.close();
  }

  #newHolder(slot: number): Holder | SendFailure {
    const { slotBytes, firstSlot } = this.#place;
    try {
      this.#memory.claim((firstSlot + slot) * slotBytes, slotBytes);
    } catch (error) {
      return { ok: false, kind: 'refused', message: formatMessage(error) };
    }
    const holder: Holder = {
      slot,
      tell: () => undefined,
      done: (answer) => {
        const outcome = answer.ok && answer.replies ? this.#withValues(answer, answer.replies, slot) : answer;
        if (!outcome.ok && isDoubtful.has(outcome.kind)) this.#slots.giveBackInDoubt(slot);
        else this.#slots.giveBack(slot);
        holder.tell(outcome);
      },
    };
    this.#holders[slot] = holder;
    return holder;
  }

  #encoded(prepared: SharingRequest<P>, slot: number): P {
    const { encodingsKept } = this.#place;
    const sharedOutputs = this.#outputsIn(slot);
    const encoded = this.#inner.prepare({ ...prepared.request, sharedOutputs });
    if (slot < encodingsKept) prepared.bySlot[slot] = encoded;
    return encoded;
  }

  #outputsIn(slot: number): readonly SharedOutput[] {
    const { region, slotBytes, firstSlot, outputs } = this.#place;
    const base = (firstSlot + slot) * slotBytes;
    return outputs.map(({ name, offset, byteSize }) => ({ name, shared: { region, offset: base + offset, byteSize } }));
  }

  /** Reads the outputs that the server wrote into the slot. */
  #withValues(outcome: SendSuccess, replies: readonly ReplyOutputs[], slot: number): SendOutcome {
    const places = this.#outputsIn(slot);
    const read = (output: OutputTensor): OutputTensor => {
      const place = places.find(({ name }) => name === output.name)?.shared;
      if (!place) return output;
      const bytes = this.#memory.read(place.offset, place.byteSize);
      return { ...output, raw: bytes.subarray(0, countBytes(output, bytes)) };
    };
    try {
      return { ...outcome, replies: replies.map((outputs) => outputs.map(read)) };
    } catch (error) {
      return { ok: false, kind: 'malformed', message: `the outputs cannot be read: ${formatMessage(error)}` };
    }
  }
}

/**
 * Returns the number of bytes of an output by its shape; BYTES elements contain their own lengths.
 */
function countBytes({ datatype, shape = [] }: OutputTensor, bytes: Buffer): number {
  const elements = shape.reduce((product, size) => product * size, 1);
  const type = numericType(datatype);
  if (type) return elements * type.bytes;
  let end = 0;
  for (let element = 0; element < elements; element++) end += 4 + bytes.readUInt32LE(end);
  return end;
}
