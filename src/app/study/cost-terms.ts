import { formatMessage, TrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import { lookUp } from '#base/look-up.ts';
import { didYouMean } from '#base/nearest.ts';
import { readDocument } from '#base/read-document.ts';
import { describeFaults } from '#base/schema-faults.ts';
import { type CostSpec, type PriceList, priceList } from '#spec/price-spec.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { CostTerms } from '#study/records/goal-schema.ts';

/** Returns the prices in a YAML or JSON file. Errors: INPUT_INVALID with the place of the fault. */
export function readPrices(file: string): PriceList {
  const outcome = priceList.safeParse(readContent(file));
  if (outcome.success) return outcome.data;
  throw invalid(`${file} is not a file of prices: ${describeFaults(outcome.error.issues)}`);
}

function readContent(file: string): unknown {
  try {
    return readDocument(file);
  } catch (error) {
    throw invalid(`cannot read ${file}: ${formatMessage(error)}`);
  }
}

const invalid = (what: string): TrituneError =>
  new TrituneError('INPUT_INVALID', what, 'see docs/prices.schema.json, and examples/prices.yaml for an example');

/**
 * Returns the spec with the contents of its price file instead of the file's name. Errors:
 * INPUT_INVALID.
 */
export const withPrices = (spec: StudySpec): StudySpec =>
  typeof spec.prices === 'string' ? { ...spec, prices: readPrices(spec.prices) } : spec;

/** The prices, or the path of their file, and which of them count. */
type CostAsked = Pick<StudySpec, 'prices' | 'cost'>;

/**
 * Returns the terms by which a study counts costs; undefined without prices. Errors: INPUT_INVALID
 * for a wrong file; USAGE if the spec does not say which of the prices count, names one that does
 * not exist, or has a rate without prices.
 */
export function toCostTerms(spec: CostAsked): CostTerms | undefined {
  const { cost = { headroomPercent: 10, holdPercent: 95 } } = spec;
  if (spec.prices === undefined) {
    if (spec.cost === undefined) return undefined;
    throw usage('costs need prices', 'add --prices FILE (docs/cost.md)');
  }
  const prices = typeof spec.prices === 'string' ? readPrices(spec.prices) : spec.prices;
  return {
    currency: prices.currency,
    ...paidFor(prices, cost),
    ...(cost.forRate !== undefined && { forRate: cost.forRate }),
    headroom: cost.headroomPercent / 100,
    chance: cost.holdPercent / 100,
    ...alikeIn(prices, cost),
  };
}

/** Returns the types of instances with the GPU that is paid for. */
function alikeIn(
  { gpus, instanceTypes }: PriceList,
  { gpu, instanceType }: Pick<CostSpec, 'gpu' | 'instanceType'>,
): Pick<CostTerms, 'instanceTypes'> {
  const kind = instanceType === undefined ? (gpu ?? Object.keys(gpus)[0]) : lookUp(instanceTypes, instanceType)?.gpu;
  const alike = Object.entries(instanceTypes)
    .filter(([, type]) => type.gpu !== undefined && type.gpu === kind && type.gpus > 0)
    .map(([name, type]) => ({ name, gpus: type.gpus, perHour: type.perHour }));
  return alike.length > 0 ? { instanceTypes: alike } : {};
}

type PaidFor = Pick<CostTerms, 'name' | 'per' | 'perHour' | 'serverGpus'>;

function paidFor(
  prices: PriceList,
  { gpu, instanceType, serverGpus }: Partial<NonNullable<StudySpec['cost']>>,
): PaidFor {
  if (gpu !== undefined && instanceType !== undefined)
    throw usage('--gpu and --instance-type cannot be used together', 'leave one of them out');
  if (instanceType !== undefined) {
    const { perHour, gpus } = named(prices.instanceTypes, instanceType, 'instance type');
    const many = serverGpus ?? gpus;
    return { name: instanceType, per: 'server', perHour, ...(many > 0 && { serverGpus: many }) };
  }
  const name = gpu ?? onlyGpu(prices);
  return { name, per: 'gpu', perHour: gpuPrice(prices, name), ...(serverGpus !== undefined && { serverGpus }) };
}

function onlyGpu({ gpus, instanceTypes }: PriceList): string {
  const [only, ...others] = Object.keys(gpus);
  if (only !== undefined && others.length === 0) return only;
  const all = [
    ...Object.keys(gpus).map((name) => `--gpu ${name}`),
    ...Object.keys(instanceTypes).map((name) => `--instance-type ${name}`),
  ];
  throw usage('the file has several prices', `choose one: ${all.join(', ')}`);
}

/**
 * A GPU's name may contain a slash. If there is no such GPU, the text after the last slash is its
 * slice.
 */
function gpuPrice({ gpus }: PriceList, name: string): number {
  const at = name.lastIndexOf('/');
  const isSlice = !Object.hasOwn(gpus, name) && at > 0;
  const gpu = named(gpus, isSlice ? name.slice(0, at) : name, 'GPU');
  const whole = typeof gpu === 'number' ? { perHour: gpu } : gpu;
  if (!isSlice) return whole.perHour;
  const slices = 'slices' in whole ? (whole.slices ?? {}) : {};
  const slice = named(slices, name.slice(at + 1), 'slice');
  return 'perHour' in slice ? slice.perHour : slice.share * whole.perHour;
}

function named<T>(all: Readonly<Record<string, T>>, name: string, what: string): T {
  const price = lookUp(all, name);
  if (price !== undefined) return price;
  const names = Object.keys(all);
  throw usage(
    `the prices have no ${what} '${name}'${didYouMean(name, names)}`,
    names.length > 0 ? `use one of ${listed(names)}` : 'add it to the file',
  );
}

const usage = (what: string, hint: string): TrituneError => new TrituneError('USAGE', what, hint);
