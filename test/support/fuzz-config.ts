import fc from 'fast-check';
import type { Json, JsonObject } from '#base/json.ts';
import {
  type FieldSchema,
  type MessageSchema,
  modelConfigSchema,
  type ScalarKind,
  type ValueSchema,
} from '#triton/config/schema.ts';

/**
 * Any config that the schema allows: every field may be there or not, at most one of each oneof.
 */
export const anyConfig = anyMessage(modelConfigSchema());

function anyMessage(schema: MessageSchema): fc.Arbitrary<JsonObject> {
  const fields = Object.fromEntries(
    schema.fields.map((field) => [field.name, fc.option(anyField(field), { freq: 2, nil: undefined })]),
  );
  return fc.record(fields).map((values) => {
    const taken = new Set<string>();
    const kept = schema.fields.filter((field) => {
      if (values[field.name] === undefined || (field.oneof && taken.has(field.oneof))) return false;
      if (field.oneof) taken.add(field.oneof);
      return true;
    });
    return Object.fromEntries(kept.map((field) => [field.name, values[field.name] as Json]));
  });
}

function anyField(field: FieldSchema): fc.Arbitrary<Json> {
  const value = anyValue(field.value);
  if (field.shape === 'single') return value;
  if (field.shape === 'repeated') return fc.array(value, { maxLength: 3 });
  const key = field.mapKey === 'string' ? fc.oneof(anyScalar('string'), fc.constant('__proto__')) : anyScalar('uint64');
  return fc.array(fc.tuple(key.map(String), value), { maxLength: 3 }).map((entries) => Object.fromEntries(entries));
}

function anyValue(schema: ValueSchema): fc.Arbitrary<Json> {
  if (schema.type === 'message') return anyMessage(schema.message);
  if (schema.type === 'enum') return fc.constantFrom(...schema.numbers.keys());
  return anyScalar(schema.scalar);
}

function anyScalar(kind: ScalarKind): fc.Arbitrary<Json> {
  const notFinite = fc.constantFrom<Json>('NaN', 'Infinity', '-Infinity');
  switch (kind) {
    case 'bool':
      return fc.boolean();
    case 'string':
      return fc.string({ unit: 'binary', maxLength: 8 });
    case 'float':
      return fc.oneof(fc.float({ noDefaultInfinity: true, noNaN: true }), notFinite);
    case 'double':
      return fc.oneof(fc.double({ noDefaultInfinity: true, noNaN: true }), notFinite);
    case 'int32':
      return fc.integer();
    case 'uint32':
      return fc.nat(2 ** 31 - 1).map((n) => n * 2 + 1);
    case 'int64':
      return int64(-(2n ** 63n), 2n ** 63n - 1n);
    case 'uint64':
      return int64(0n, 2n ** 64n - 1n);
  }
}

/** Numbers, and texts beyond the exact ones; a third each at and beyond that limit. */
function int64(min: bigint, max: bigint): fc.Arbitrary<Json> {
  return fc
    .oneof(
      fc.maxSafeNat().map(BigInt),
      fc.bigInt({ min: 2n ** 53n - 2n, max: 2n ** 53n + 1n }),
      fc.bigInt({ min, max }),
    )
    .map((value) => (Number.isSafeInteger(Number(value)) ? Number(value) : String(value)));
}
