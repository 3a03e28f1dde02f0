import { Argument, Command } from 'commander';
import type { JsonObject } from '#base/json.ts';
import { tellFormerCommand } from '../former-command.ts';
import type { Terminal } from '../terminal.ts';
import type { DocumentName } from './schema-documents.ts';

const names: readonly DocumentName[] = [
  'study',
  'space',
  'workload',
  'prices',
  'summary',
  'profile',
  'capacity',
  'journal',
];

/** `tritune schema NAME`: the JSON Schema of a document, for editors and readers. */
export const schemaCommand = (terminal: Terminal): Command =>
  new Command('schema')
    .description('Print the JSON Schema of a file that tritune reads or writes, for editors (docs/pages.md)')
    .addArgument(new Argument('<document>', 'The document').choices(names))
    .action((name: DocumentName) => printSchema(name, terminal));

/** The name of before: `tritune space schema`, `tritune workload schema`. */
export const formerSchemaCommand = (name: 'space' | 'workload', terminal: Terminal): Command =>
  new Command('schema').description(`Now: tritune schema ${name}`).action(async () => {
    tellFormerCommand(`${name} schema`, `schema ${name}`, terminal);
    await printSchema(name, terminal);
  });

async function printSchema(name: DocumentName, terminal: Terminal): Promise<void> {
  const { documents } = await import('./schema-documents.ts');
  const schema: JsonObject = documents[name]();
  terminal.print(JSON.stringify(schema, null, 2));
}
