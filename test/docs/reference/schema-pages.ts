import { basename } from 'node:path';
import { z } from 'zod';
import { writtenJsonSchema } from '#base/schema.ts';
import { readYaml } from '#base/yaml.ts';
import { capacityDocumentSchema } from '#capacity/document-schema.ts';
import { emulatorSchema } from '#emulator/profile/schema.ts';
import { explanationSchema } from '#explain/explanation.ts';
import { type ProfileHead, profileJson, profileSchema } from '#report/profile-json.ts';
import { spaceJsonSchema } from '#space/source/schema.ts';
import { readSource } from '#space/source/source.ts';
import { capacityOptions } from '#spec/capacity-spec.ts';
import { type FlatDocument, filledOptions } from '#spec/flat-options.ts';
import { priceList } from '#spec/price-spec.ts';
import { profileOptions } from '#spec/profile-spec.ts';
import { specFileSchema } from '#spec/series-spec.ts';
import { readSpecChange } from '#spec/spec-change.ts';
import { checkStudySpec } from '#spec/study-spec.ts';
import { foldStudy } from '#study/records/fold.ts';
import { checkRecord, recordJsonSchema } from '#study/records/record-schema.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { summarize } from '#study/summary/summary.ts';
import { summaryJsonSchema } from '#study/summary/summary-schema.ts';
import { parseWorkload } from '#workload/read-workload.ts';
import { workloadJsonSchema } from '#workload/workload-schema.ts';
import { aCapacity } from '../../capacity/documents.ts';
import { anExplanation } from '../../explain/documents.ts';
import { goalOf, measured, studyStarted } from '../../study/builders.ts';
import type { JsonSchema } from './json-schema.ts';
import { printExample, printPage, printSections } from './markdown.ts';
import type { SchemaDocument } from './parts.ts';
import { sectionsOf } from './sections.ts';

/** A page that describes a file by its schema. */
export interface SchemaPage extends SchemaDocument {
  /** Its name in docs/reference. */
  readonly file: string;
  readonly title: string;
  readonly intro: string;
  readonly example: Example;
}

/** The smallest file that says something. */
export interface Example {
  readonly language: 'yaml' | 'json' | 'sh';
  readonly text: string;
  /** Reads it as the program does. Errors: what is wrong with it. */
  readonly check: (text: string) => unknown;
}

/** Returns the page as Markdown. */
export const printSchemaPage = (page: SchemaPage): string =>
  printPage(page.title, [
    page.intro,
    printExample(page.example.language, page.example.text),
    printSections(sectionsOf(page), page.kind),
  ]);

const documentOf = (schema: unknown): JsonSchema => schema as JsonSchema;

const studySpecPage: SchemaPage = {
  file: 'study-spec.md',
  title: 'Study spec',
  intro:
    'A file for `tritune tune --spec`: one study, or a series of them. [A study as a file](../study-spec.md) says how to use it. ' +
    'The JSON Schema is [study.schema.json](../study.schema.json).',
  document: documentOf(specFileSchema()),
  kind: 'file',
  name: 'study',
  elsewhere: { prices: '[prices](prices.md)' },
  example: {
    language: 'yaml',
    text: 'model: resnet\nserver: { url: triton:8001 }\ngoal: { latencyBudgetMs: 8 }\nlimits: { timeBudgetSeconds: 600 }\n',
    check: (text) => checkStudySpec(readYaml(text).value, 'the example'),
  },
};

const spacePage: SchemaPage = {
  file: 'search-space.md',
  title: 'Search space file',
  intro:
    'A file for `--space`: what may change in the config of a model. [Search spaces](../search-spaces.md) explains it. ' +
    'The JSON Schema is [schema.json](../../search-spaces/schema.json), which `tritune schema space` prints. ' +
    'A *single value* is text, a number, or true or false.',
  document: documentOf(spaceJsonSchema()),
  kind: 'file',
  name: 'space',
  elsewhere: {},
  example: {
    language: 'yaml',
    text: 'extends: onnxruntime\nparameters:\n  instances: { range: [1, 4] }\n  queue_delay_us: [0, 500, 2000]\n',
    check: (text) => readSource('space.yaml', text),
  },
};

const workloadPage: SchemaPage = {
  file: 'workload.md',
  title: 'Workload file',
  intro:
    'A file for `--workload`: which requests arrive when. [Workloads](../workloads.md) explains it. ' +
    'The JSON Schema is [workload.schema.json](../workload.schema.json), which `tritune schema workload` prints.',
  document: documentOf(workloadJsonSchema()),
  kind: 'file',
  name: 'workload',
  elsewhere: {},
  example: {
    language: 'yaml',
    text: 'workloadVersion: 1\nphases:\n  - { durationS: 60, arrivals: { process: poisson, perSecond: 200 } }\n',
    check: (text) => parseWorkload(text, 'workload.yaml'),
  },
};

const pricesPage: SchemaPage = {
  file: 'prices.md',
  title: 'Prices file',
  intro:
    'A file for `--prices`. [Cost](../cost.md) says how prices count. The JSON Schema is [prices.schema.json](../prices.schema.json).',
  document: documentOf(z.toJSONSchema(priceList, { io: 'input' })),
  kind: 'file',
  name: 'prices',
  elsewhere: {},
  example: {
    language: 'yaml',
    text: 'currency: EUR\ngpus: { L4: 0.8 }\n',
    check: (text) => priceList.parse(readYaml(text).value),
  },
};

const emulatorPage: SchemaPage = {
  file: 'emulator-profile.md',
  title: 'Emulator profile',
  intro:
    'A file for `tritune emulate --profile`. [The emulator](../emulator.md) explains it, and ' +
    '[emulator-profiles](../../emulator-profiles) has the packaged ones. The JSON Schema is ' +
    '[emulator-profile.schema.json](../emulator-profile.schema.json), which `tritune schema emulator` prints.',
  document: documentOf(z.toJSONSchema(emulatorSchema, { io: 'input' })),
  kind: 'file',
  name: 'profile',
  elsewhere: {},
  example: {
    language: 'yaml',
    text: [
      'models:',
      '  - config:',
      '      name: classifier',
      '      backend: onnxruntime',
      '      max_batch_size: 8',
      '      input: [{ name: IMAGE, data_type: TYPE_FP32, dims: [3, 224, 224] }]',
      '      output: [{ name: SCORES, data_type: TYPE_FP32, dims: [1000] }]',
      '    law: { execution_ms: [[1, 0.5], [8, 4]] }',
      '',
    ].join('\n'),
    check: (text) => emulatorSchema.parse(readYaml(text).value),
  },
};

const justStarted = summarize(foldStudy([studyStarted(goalOf(8))]), 'journal.jsonl');

const summaryPage: SchemaPage = {
  file: 'summary.md',
  title: 'summary.json',
  intro:
    'The result of `tritune tune`, which `tritune report` writes again from the journal. A figure that could not be computed is null. ' +
    'The JSON Schema is [summary.schema.json](../summary.schema.json).',
  document: documentOf(summaryJsonSchema()),
  kind: 'output',
  name: 'summary',
  elsewhere: {},
  example: {
    language: 'json',
    text: `${JSON.stringify(justStarted, null, 2)}\n`,
    check: (text) =>
      z.fromJSONSchema(summaryJsonSchema() as Parameters<typeof z.fromJSONSchema>[0]).parse(JSON.parse(text)),
  },
};

const aProfile: ProfileHead = {
  schemaVersion: 1,
  trituneVersion: '1.0.0',
  model: 'densenet_onnx',
  modelVersion: '1',
  server: { name: 'triton', version: '2.51.0', url: 'localhost:8001', emulated: null },
  protocol: 'grpc',
  batch: 1,
  mode: 'concurrency',
  stability: 'precision',
  commandLine: ['profile', '-m', 'densenet_onnx', '--json', 'profile.json'],
};

const capacityPage: SchemaPage = {
  file: 'capacity.md',
  title: 'capacity.json',
  intro:
    'The result of `tritune capacity`. [Capacity](../capacity.md) explains it. The JSON Schema is [capacity.schema.json](../capacity.schema.json).',
  document: documentOf(writtenJsonSchema(capacityDocumentSchema)),
  kind: 'output',
  name: 'capacity',
  elsewhere: {},
  example: {
    language: 'json',
    text: `${JSON.stringify(aCapacity({ burst: null, cliff: [], probes: [], closedLoops: [] }), null, 2)}\n`,
    check: (text) => capacityDocumentSchema.parse(JSON.parse(text)),
  },
};

const explanationPage: SchemaPage = {
  file: 'explain.md',
  title: 'explain --json',
  intro:
    'What `tritune explain --json FILE` writes. [Why is my service slow?](../explain.md) explains it. ' +
    'The JSON Schema is [explain.schema.json](../explain.schema.json).',
  document: documentOf(writtenJsonSchema(explanationSchema)),
  kind: 'output',
  name: 'explanation',
  elsewhere: {},
  example: {
    language: 'json',
    text: `${JSON.stringify(anExplanation, null, 2)}\n`,
    check: (text) => explanationSchema.parse(JSON.parse(text)),
  },
};

/** What a measurement consists of, in the journal as here. */
const measuredParts = [
  ...['budgetLatencyMs', 'client', 'clientTimes', 'device', 'engine', 'front', 'interval', 'latencies'],
  ...['latencySummary', 'level', 'lengths', 'requestClass', 'serverStatistics', 'tokens', 'workload'],
];

const profilePage: SchemaPage = {
  file: 'profile.md',
  title: 'profile --json',
  intro:
    'What `tritune profile --json FILE` writes: every level, as it was measured. [Profile](../profile.md) explains it. ' +
    'A figure that could not be computed is null. The JSON Schema is [profile.schema.json](../profile.schema.json).',
  document: documentOf(writtenJsonSchema(profileSchema)),
  kind: 'output',
  name: 'profile',
  elsewhere: Object.fromEntries(measuredParts.map((id) => [id, `[${id}](journal.md#${id.toLowerCase()})`])),
  example: {
    language: 'json',
    text: `${JSON.stringify(profileJson(aProfile, [{ measurement: measured(8, 1200, 9), isWithinLimit: true }]), null, 2)}\n`,
    check: (text) => profileSchema.parse(JSON.parse(text)),
  },
};

/** Returns the page of what `--set` reaches in a command. */
const settingsPage = (document: FlatDocument, example: readonly string[]): SchemaPage => ({
  file: basename(document.page),
  title: `Fields of ${document.name}`,
  intro:
    `What \`--set PATH=VALUE\` of \`tritune ${document.name}\` reaches, beside the options that have names of their own. ` +
    'The value is written as in YAML.',
  document: documentOf(z.toJSONSchema(document.schema, { io: 'input' })),
  kind: 'file',
  name: document.name,
  elsewhere: {},
  example: {
    language: 'sh',
    text: `tritune ${document.name} -m resnet ${example.map((each) => `--set '${each}'`).join(' ')}\n`,
    check: (text) => {
      const changes = [...text.matchAll(/--set '([^']*)'/g)].map(([, change = '']) => readSpecChange(change, document));
      if (changes.length === 0) throw new Error('it sets nothing');
      filledOptions({}, document, changes);
    },
  },
});

const lastRecords: readonly StudyRecord[] = [
  {
    type: 'trial-finished',
    at: '2026-01-01T00:04:10.000Z',
    runMs: 250_000,
    trial: 7,
    chosen: 1,
    feasible: true,
    failure: null,
  },
  {
    type: 'gain-decided',
    at: '2026-01-01T00:06:00.000Z',
    runMs: 360_000,
    best: 7,
    gain: { value: 2.1, low: 2, high: 2.2 },
  },
];

const journalPage: SchemaPage = {
  file: 'journal.md',
  title: 'Journal',
  intro:
    '`journal.jsonl` has one JSON object a line: everything that happened to a study, in the order of time. All other documents are made from it. ' +
    'Within one `schemaVersion` fields are only added. A figure that could not be computed is null. ' +
    'The JSON Schema of a line is [journal.schema.json](../journal.schema.json).',
  document: documentOf(recordJsonSchema()),
  kind: 'output',
  name: 'Every record',
  elsewhere: { study: '[study spec](study-spec.md)' },
  example: {
    language: 'json',
    text: lastRecords.map((record) => `${JSON.stringify(record)}\n`).join(''),
    check: (text) => {
      for (const line of text.trim().split('\n')) {
        const outcome = checkRecord(JSON.parse(line));
        if ('fault' in outcome) throw new Error(outcome.fault);
      }
    },
  },
};

export const schemaPages: readonly SchemaPage[] = [
  studySpecPage,
  settingsPage(profileOptions, ['traffic.batch=8', 'levels.concurrencyRange={start: 1, end: 16, step: 5}']),
  settingsPage(capacityOptions, ['goal.latencyBudgetMs=50', 'traffic.batch=8']),
  spacePage,
  workloadPage,
  pricesPage,
  emulatorPage,
  summaryPage,
  profilePage,
  capacityPage,
  explanationPage,
  journalPage,
];
