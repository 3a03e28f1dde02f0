import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Short files that take more than half a minute; long ones begin first anyway where nobody knows
 * yet how long they take.
 */
const slow = [
  ...['cli/capacity', 'study/cost-search', 'cli/tune-workload-language', 'library/capacity', 'cli/cuda-memory'],
  ...['cli/capacity-kinds', 'cli/tune-batch', 'cli/together-workload', 'adapter/twin'],
].map((name) => `/test/${name}.test.ts`);

const isSlow = ({ moduleId }: TestSpecification): boolean => slow.some((name) => moduleId.endsWith(name));

/** Begins with slow files, so that none of them runs alone at the end while cores are idle. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project.name);
    return [...projects.values()].flatMap((own) => [...own.filter(isSlow), ...own.filter((file) => !isSlow(file))]);
  }
}
