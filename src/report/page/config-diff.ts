import { emittedConfig } from '#adapter/triton/documents.ts';
import { canonicalJson } from '#base/json.ts';
import { type DiffLine, diffLines, GAP, withContext } from '#base/line-diff.ts';
import { lookUp } from '#base/look-up.ts';
import { clientChanges } from '#space/client-changes.ts';
import { listDifferences } from '#space/differences.ts';
import { withoutServerDefaults } from '#space/edits/server-defaults.ts';
import { toDocument, toModelConfigs, toOtherConfigs } from '#space/model-configs.ts';
import type { Candidate } from '#space/types.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeClientChange } from '#study/summary/client-words.ts';
import { type Html, html, none } from '../html.ts';

/** Lines around a change, enough to show its block. */
const CONTEXT = 2;

/**
 * Returns the differences between the best and the original, as changed lines of config.pbtxt or of
 * an engine's settings; empty without a best.
 */
export function configDiff({ started, best }: StudyState): Html {
  if (!best) return none;
  const changes = listTexts(started.original, best.candidate, started.model).flatMap(({ name, before, after }) => {
    const lines = withContext(diffLines(before, after), CONTEXT);
    return lines.length === 0 ? [] : [{ name, lines }];
  });
  const files = listDifferences(started.original, best.candidate).filter(({ path }) => path === 'variant');
  if (changes.length + files.length === 0) return html`<div class="changes"><h2>Your config stays as it is</h2></div>`;
  return html`<div class="changes"><h2>What changes in your config</h2>
<pre class="lines">${changes.map(({ name, lines }) => html`<span class="file">${name}</span>\n${lines.map(line)}`)}${files.map(
    ({ before, after }) =>
      html`${line({ kind: 'removed', text: `files: ${canonicalJson(before ?? 'those of the server')}` })}${line({ kind: 'added', text: `files: ${canonicalJson(after ?? 'those of the server')}` })}`,
  )}</pre>${clientChanges(started.original, best.candidate)
    .filter((change) => change.breaks)
    .map((change) => html`<p class="breaks">${describeClientChange(change, started.model)}</p>`)}</div>`;
}

const signs: Readonly<Record<DiffLine['kind'], string>> = { same: ' ', removed: '-', added: '+' };

const line = (of: DiffLine | typeof GAP): Html =>
  of === GAP
    ? html`<span class="gap">  …</span>\n`
    : html`<span class="${of.kind}">${signs[of.kind]} ${of.text}</span>\n`;

interface Texts {
  readonly name: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/**
 * Returns the texts of both, model by model. If only one of them sets a model, the other is shown
 * as it is by default.
 */
function listTexts(original: Candidate, best: Candidate, model: string): readonly Texts[] {
  const [configs, others] = [toModelConfigs(best), { ...toOtherConfigs(original), ...toModelConfigs(original) }];
  const names = Object.keys(configs);
  if (names.length === 0) return [{ name: 'settings', before: settingLines(original), after: settingLines(best) }];
  const [only] = Object.keys(others);
  return names.map((key) => {
    // A model may have the name of a property that every object has.
    const before = Object.hasOwn(others, key) ? others[key] : names.length === 1 ? others[only ?? ''] : undefined;
    const text = (config: (typeof configs)[string]): readonly string[] =>
      emittedConfig(withoutServerDefaults(config), key || model)
        .trimEnd()
        .split('\n');
    return {
      name: names.length === 1 ? 'config.pbtxt' : `${key}/config.pbtxt`,
      before: before ? text(before) : [],
      after: text(lookUp(configs, key) ?? {}),
    };
  });
}

const settingLines = (candidate: Candidate): readonly string[] =>
  Object.entries(toDocument(candidate))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}: ${canonicalJson(value ?? null)}`);
