import { cacheDirectory } from '#adapter/variants/cache.ts';
import { withKnownBuilds } from '#adapter/variants/known-builds.ts';
import { TrituneError } from '#base/errors.ts';
import type { JsonObject } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import { MARK } from '#space/artifact.ts';
import { checkVariants } from '#space/check-variants.ts';
import { TRITON, toOriginal } from '#space/model-configs.ts';
import { loadSpace, spaceFromJson } from '#space/source/load.ts';
import { presetFor } from '#space/source/presets.ts';
import type { ServerIdentity, StudyStarted } from '#study/records/records.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { splitAddresses } from '#triton/wire/address-list.ts';
import type { DescribedTarget, OpenStudy } from '../../study/study.ts';
import { checkAlike } from './check-alike.ts';
import { createJointTarget, jointTarget } from './joint-target.ts';
import { readLimits, type TritonModels, toConfigs } from './models.ts';
import type { Together } from './read-together.ts';
import { connectClients, type ServedClients } from './served-clients.ts';
import { withEngine } from './served-settings.ts';
import { spaceOnServers } from './space-on-servers.ts';
import { spaceOfOne, spaceOfSeveral, type TunedSpace } from './tuned-space.ts';

/** The models of a Triton, and their search space. */
export interface DescribedTriton extends DescribedTarget {
  readonly space: TunedSpace;
}

type DescribedFrom = Pick<OpenStudy, 'spec' | 'sampler' | 'started'>;

/**
 * Returns what a study tunes on a Triton. A resumed study keeps the config and space of its
 * journal. Errors: SPACE_INVALID, USAGE, INPUT_INVALID, UNSUPPORTED for a variant with other
 * tensors.
 */
export function describeTriton(study: DescribedFrom, server: ServerIdentity, models: TritonModels): DescribedTriton {
  const { started } = study;
  const { originalModel: model, others, together } = models;
  if (started) checkAsMany(started.server.url, server.url);
  if (!started) for (const { config } of [model, ...others.values()]) checkNotUploaded(config);
  const clients = started ? started.clients : undefined;
  const served = connectClients(study, models);
  const onOne = together ? spaceOfTogether(study, models, served) : spaceOfModel(study, models, served);
  const space = spaceOnServers(onOne, server.url, started !== null);
  const clientText = clients ?? served?.told();
  return {
    name: TRITON,
    identity: server,
    original: space.original,
    space,
    wasLoaded: started?.wasLoaded ?? model.wasLoaded,
    unloadedOthers: started ? started.unloadedOthers : unloadedIn(others),
    topology: together?.topology,
    clients: clientText && clientText.length > 0 ? clientText : undefined,
  };
}

/** Errors: USAGE for a study that goes on with another number of servers. */
function checkAsMany(began: string, now: string): void {
  const [before, after] = [began, now].map((urls) => splitAddresses(urls).length);
  if (before === after) return;
  throw new TrituneError(
    'USAGE',
    `the study began with ${before} ${before === 1 ? 'server' : 'servers'} (${began}), not ${after}`,
    'give as many addresses with -u, or start a new study',
  );
}

function spaceOfModel(
  { spec, started }: DescribedFrom,
  { originalModel: model, others, spaces, names }: TritonModels,
  clients: ServedClients | null,
): TunedSpace {
  if (started) return spaceOfOne(spaceFromJson(started.space), started.original);
  if (spaces.across) throw aboutSeveral(spec.model);
  const { config } = model;
  const preset = presetFor(config.backend || config.platform);
  const limits = readLimits(spec.goal.latencyBudgetMs);
  const searchSpace = lookUp(spaces.members, names[0]) ?? spaces.whole ?? loadSpace(preset, { limits });
  const space = withKnownBuilds(clients?.serving(searchSpace, spec.model, config) ?? searchSpace, cacheDirectory());
  for (const [name, other] of others) checkAlike(spec.model, model, name, other);
  const otherConfigs = Object.fromEntries([...others].map(([name, other]) => [name, other.config]));
  // An exact copy, because a config that the server has already needs no load.
  const original = withEngine(toOriginal(config, otherConfigs), space, spec);
  checkVariants(space, original);
  return spaceOfOne(space, original);
}

function aboutSeveral(model: string): TrituneError {
  const hint = 'put them into the search space of the model, without the name of the model before its parameters';
  return new TrituneError(
    'SPACE_INVALID',
    `the search space has rules over several models, but '${model}' is tuned alone`,
    hint,
  );
}

function spaceOfTogether(
  { spec, started }: DescribedFrom,
  models: TritonModels,
  clients: ServedClients | null,
): TunedSpace {
  if (started) return spaceOfSeveral(createJointTarget(started));
  const limits = readLimits(spec.goal.latencyBudgetMs);
  return spaceOfSeveral(jointTarget(models.together as Together, toConfigs(models), models.spaces, limits, clients));
}

/**
 * Errors: RESTORE_FAILED for a model that another study has uploaded files for, because this study
 * could not restore the model's own files.
 */
function checkNotUploaded({ name = '', parameters }: ModelConfig): void {
  const mark = (parameters as JsonObject | undefined)?.[MARK];
  if (mark === undefined) return;
  throw new TrituneError(
    'RESTORE_FAILED',
    `'${name}' still serves files that an earlier study uploaded`,
    'run `tritune restore` with the output directory of that study, or unload and load the model',
  );
}

function unloadedIn(models: TritonModels['others']): readonly string[] | undefined {
  const unloaded = [...models].filter(([, { wasLoaded }]) => !wasLoaded).map(([name]) => name);
  return unloaded.length > 0 ? unloaded : undefined;
}

/**
 * Returns the first record of a study that began on another server, as this server's. Errors:
 * UNSUPPORTED if its model or its config differs from the one that the study began with.
 */
export function startedOn(started: StudyStarted, models: TritonModels): StudyStarted {
  const { originalModel, others } = models;
  const configs = toConfigs(models);
  const [ownName] = models.names;
  const { [ownName]: _, ...otherConfigs } = configs;
  const fingerprint = models.together
    ? started.original.fingerprint
    : toOriginal(originalModel.config, otherConfigs).fingerprint;
  if (fingerprint !== started.original.fingerprint)
    throw new TrituneError(
      'UNSUPPORTED',
      `the config of '${ownName}' on this server differs from the one on the first server of the group`,
      'serve the same model repository on all servers of a group',
    );
  const unloaded = [...others].filter(([, { wasLoaded }]) => !wasLoaded).map(([model]) => model);
  return { ...started, wasLoaded: originalModel.wasLoaded, ...(unloaded.length > 0 && { unloadedOthers: unloaded }) };
}
