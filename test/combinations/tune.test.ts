import { combinationsSuite } from './suite.ts';

combinationsSuite('tune');
