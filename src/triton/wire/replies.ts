import { isJsonObject, type Json, type JsonObject } from '#base/json.ts';
import type {
  CudaMemoryRegion,
  ModelIndexEntry,
  ModelMetadata,
  ServerMetadata,
  SharedMemoryRegion,
  TensorMetadata,
  TraceSettings,
} from '../types.ts';

/** Longer names are cut: they are no names. Reasons and messages are longer. */
const MAX_NAME = 1024;
/** A longer message of a server is cut. */
export const MAX_MESSAGE = 4096;

/**
 * Readers of reply fields. A field at its default may be missing (always over gRPC), and 64-bit
 * integers may arrive as text. A value of another shape reads as the default: a newer server must
 * not stop us.
 */
export function textIn(reply: JsonObject, field: string, longest = MAX_NAME): string {
  const value = reply[field];
  return typeof value === 'string' ? value.slice(0, longest) : '';
}

export function numberIn(reply: JsonObject, field: string): number {
  const value = parseNumber(reply[field]);
  return Number.isFinite(value) ? value : 0;
}

/** Returns a whole number of things: at least 0, and so small that it is exact. */
export const countIn = (reply: JsonObject, field: string): number =>
  Math.min(Math.max(0, Math.round(numberIn(reply, field))), Number.MAX_SAFE_INTEGER);

/**
 * NaN if it is not a number. Objects are not converted: an answer may give them a `valueOf` that is
 * not a function.
 */
function parseNumber(value: Json | undefined): number {
  return typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
}

export function messageIn(reply: JsonObject, field: string): JsonObject {
  return asObject(reply[field]);
}

export function messagesIn(reply: JsonObject, field: string): readonly JsonObject[] {
  return listIn(reply, field).map(asObject);
}

function listIn(reply: JsonObject, field: string): readonly Json[] {
  const value = reply[field];
  return Array.isArray(value) ? value : [];
}

function textsIn(reply: JsonObject, field: string): readonly string[] {
  return listIn(reply, field).map(formatText);
}

const formatText = (value: Json): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);

function asObject(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function readServerMetadata(reply: JsonObject): ServerMetadata {
  return {
    name: textIn(reply, 'name'),
    version: textIn(reply, 'version'),
    extensions: textsIn(reply, 'extensions'),
  };
}

export function readModelMetadata(reply: JsonObject): ModelMetadata {
  return {
    name: textIn(reply, 'name'),
    versions: textsIn(reply, 'versions'),
    platform: textIn(reply, 'platform'),
    inputs: messagesIn(reply, 'inputs').map(readTensorMetadata),
    outputs: messagesIn(reply, 'outputs').map(readTensorMetadata),
  };
}

function readTensorMetadata(reply: JsonObject): TensorMetadata {
  return {
    name: textIn(reply, 'name'),
    datatype: textIn(reply, 'datatype'),
    shape: listIn(reply, 'shape').map(parseNumber),
  };
}

const modelStates = ['', 'READY', 'LOADING', 'UNLOADING', 'UNAVAILABLE', 'UNKNOWN'] as const;

/** A model that was never loaded has no version and no state. */
export function readIndex(reply: JsonObject): readonly ModelIndexEntry[] {
  return messagesIn(reply, 'models').map((entry) => ({
    name: textIn(entry, 'name'),
    version: textIn(entry, 'version'),
    state: modelStates.find((state) => state === textIn(entry, 'state')) ?? 'UNKNOWN',
    reason: textIn(entry, 'reason', MAX_MESSAGE),
  }));
}

export function readRegions(reply: JsonObject): readonly SharedMemoryRegion[] {
  return readEntries(reply).map((entry) => ({
    name: textIn(entry, 'name'),
    key: textIn(entry, 'key'),
    offset: numberIn(entry, 'offset'),
    byteSize: numberIn(entry, 'byte_size'),
  }));
}

export function readCudaRegions(reply: JsonObject): readonly CudaMemoryRegion[] {
  return readEntries(reply).map((entry) => ({
    name: textIn(entry, 'name'),
    deviceId: numberIn(entry, 'device_id'),
    byteSize: numberIn(entry, 'byte_size'),
  }));
}

/** Returns regions: a list over HTTP, a map by name over gRPC; here ordered by name. */
function readEntries(reply: JsonObject): readonly JsonObject[] {
  const entries = Array.isArray(reply.regions)
    ? messagesIn(reply, 'regions')
    : Object.values(messageIn(reply, 'regions'));
  return entries.map(asObject).sort((a, b) => (textIn(a, 'name') < textIn(b, 'name') ? -1 : 1));
}

/** Each setting is a message with its values over gRPC, and a text or a list of texts over HTTP. */
export function readTraceSettings(reply: JsonObject): TraceSettings {
  return Object.fromEntries(
    Object.entries(messageIn(reply, 'settings')).map(([name, setting]) => {
      const values = Array.isArray(setting) ? setting : isJsonObject(setting) ? listIn(setting, 'value') : [setting];
      return [name, values.map(formatText)];
    }),
  );
}
