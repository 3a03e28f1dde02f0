import { combinationsSuite } from './suite.ts';

combinationsSuite('capacity');
