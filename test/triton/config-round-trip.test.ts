import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '#base/json.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import { normaliseConfig } from '#triton/config/normal-form.ts';
import { parseConfigText } from '#triton/config/parser.ts';
import { printConfigText } from '#triton/config/printer.ts';
import { messageType } from '#triton/wire/proto.ts';
import { anyConfig } from '../support/fuzz-config.ts';

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
