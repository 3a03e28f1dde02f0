import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../src/base/json.ts';
import { compareConfigs } from '../../src/triton/config-comparison.ts';
import { normaliseConfig } from '../../src/triton/config-normal-form.ts';
import { parseConfigText } from '../../src/triton/config-parser.ts';
import { printConfigText } from '../../src/triton/config-printer.ts';
import {
  type FieldSchema,
  type MessageSchema,
  modelConfigSchema,
  type ScalarKind,
  type ValueSchema,
} from '../../src/triton/config-schema.ts';
import { messageType } from '../../src/triton/proto.ts';

/** Any config that the schema allows: every field may be there or not, at most one of each oneof. */
const anyConfig = anyMessage(modelConfigSchema());

describe('any ModelConfig', () => {
  it('survives the text format', () => {
    fc.assert(
      fc.property(anyConfig, (json) => {
        const config = normaliseConfig(json);
        const text = printConfigText(config);
        expect(parseConfigText(text, 'config.pbtxt')).toEqual({ config, unknownFields: [] });
      }),
      { numRuns: 1000 },
    );
  });

  it('has one normal form in JSON, in text and on the binary wire', () => {
    const type = messageType('ModelConfig');
    fc.assert(
      fc.property(anyConfig, (json) => {
        const config = normaliseConfig(json);
        expect(normaliseConfig(JSON.parse(JSON.stringify(config)))).toEqual(config);
        const onWire = type.decode(type.encode(type.fromObject(forProtobuf(config) as JsonObject)).finish());
        const back = type.toObject(onWire, { longs: String, enums: String, json: true });
        expect(compareConfigs(normaliseConfig(back), config)).toEqual([]);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('hostile text', () => {
  it('is read, or refused with a code', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      '<',
      '>',
      ':',
      ',',
      ';',
      '-',
      '"',
      '\\',
      '#',
      '\n',
      'input',
      'name',
      'dims',
      '7',
      '1e9',
      ' ',
    ];
    const soup = fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 3 })), { maxLength: 40 });
    fc.assert(
      fc.property(soup, (parts) => {
        try {
          parseConfigText(parts.join(''), 'config.pbtxt');
        } catch (error) {
          expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
        }
      }),
      { numRuns: 500 },
    );
  });
});

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
      return fc.maxSafeInteger();
    case 'uint64':
      return fc.maxSafeNat();
  }
}

/** protobufjs reads numbers that are not finite only as numbers. */
function forProtobuf(json: Json): Json {
  if (Array.isArray(json)) return json.map(forProtobuf);
  if (typeof json !== 'object' || json === null) return json;
  const entries = Object.entries(json as JsonObject).map(([key, value]) => {
    const items = key === 'buckets' || key === 'fp32_false_true' ? (value as readonly Json[]).map(Number) : value;
    return [key, key === 'minimum_slot_utilization' ? Number(value) : forProtobuf(items as Json)] as const;
  });
  return Object.fromEntries(entries);
}
