import { z } from 'zod';
import type { JsonObject } from '#base/json.ts';
import { writtenJsonSchema } from '#base/schema.ts';
import { capacityDocumentSchema } from '#capacity/document-schema.ts';
import { emulatorSchema } from '#emulator/profile/schema.ts';
import { explanationSchema } from '#explain/explanation.ts';
import { profileSchema } from '#report/profile-json.ts';
import { spaceJsonSchema } from '#space/source/schema.ts';
import { priceList } from '#spec/price-spec.ts';
import { specFileSchema } from '#spec/series-spec.ts';
import { recordJsonSchema } from '#study/records/record-schema.ts';
import { summaryJsonSchema } from '#study/summary/summary-schema.ts';
import { workloadJsonSchema } from '#workload/workload-schema.ts';

/** The JSON Schema (2020-12) of each document, by its name. */
export const documents = {
  study: specFileSchema,
  space: spaceJsonSchema,
  workload: workloadJsonSchema,
  prices: (): JsonObject => ({
    title: 'Prices for tritune',
    ...(z.toJSONSchema(priceList, { io: 'input' }) as JsonObject),
  }),
  emulator: (): JsonObject => ({
    title: 'Profile of the tritune emulator',
    ...(z.toJSONSchema(emulatorSchema, { io: 'input' }) as JsonObject),
  }),
  summary: summaryJsonSchema,
  profile: (): JsonObject => writtenJsonSchema(profileSchema),
  capacity: (): JsonObject => writtenJsonSchema(capacityDocumentSchema),
  explain: (): JsonObject => writtenJsonSchema(explanationSchema),
  journal: recordJsonSchema,
} as const;

export type DocumentName = keyof typeof documents;
