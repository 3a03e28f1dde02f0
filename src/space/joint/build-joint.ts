import { canonicalJson } from '#base/json.ts';
import { didYouMean } from '#base/nearest.ts';
import { buildCandidate } from '../candidate.ts';
import { expectedTime } from '../expected-time.ts';
import type { Assignment, Candidate, CandidateOutcome } from '../types.ts';
import { joinCandidates } from './join-candidates.ts';
import { brokenJointRule, type MemberInRules } from './joint-rules.ts';
import { byMember, type JointMember, type JointSpace, jointName, toSurroundings } from './joint-space.ts';

/**
 * The number of members' candidates that are kept: samplers build thousands of joint candidates
 * from a few of each member's.
 */
const MAX_KNOWN = 10_000;
const known = new WeakMap<JointMember, Map<string, CandidateOutcome>>();

/**
 * Returns the original with the assignment's values, or why that is no legal candidate. A parameter
 * without a value keeps its model's own; the empty assignment is always legal.
 */
export function buildJoint(joint: JointSpace, assignment: Assignment): CandidateOutcome {
  const stranger = strangerIn(joint, assignment);
  if (stranger !== null) return { legal: false, reason: stranger };
  const built: [string, Candidate][] = [];
  const members: MemberInRules[] = [];
  for (const [index, part] of byMember(joint, assignment).entries()) {
    const member = joint.members[index] as JointMember;
    const outcome = buildMember(member, part);
    if (!outcome.legal) return { legal: false, reason: `${member.model}: ${outcome.reason}` };
    built.push([member.model, outcome.candidate]);
    members.push({ ...member, assignment: part, candidate: outcome.candidate });
  }
  const reason = Object.keys(assignment).length === 0 ? null : brokenJointRule(joint.across, members);
  if (reason !== null) return { legal: false, reason };
  return { legal: true, candidate: joinCandidates(built, toSurroundings(joint), assignment) };
}

function buildMember(member: JointMember, part: Assignment): CandidateOutcome {
  const ofMember = known.get(member) ?? new Map<string, CandidateOutcome>();
  known.set(member, ofMember);
  const key = canonicalJson(part);
  const outcome = ofMember.get(key) ?? buildCandidate(member.space, member.original, part);
  if (ofMember.size < MAX_KNOWN) ofMember.set(key, outcome);
  return outcome;
}

/** Returns a parameter that no member has; null if there is none. */
function strangerIn({ members }: JointSpace, assignment: Assignment): string | null {
  const models = new Set(members.map(({ model }) => model));
  const stranger = Object.keys(assignment).find((name) => !models.has(name.slice(0, Math.max(0, name.indexOf('/')))));
  if (stranger === undefined) return null;
  const all = members.flatMap(({ model, space }) => space.parameters.map(({ name }) => jointName(model, name)));
  const guess = didYouMean(stranger, all) || '; a parameter is named MODEL/PARAMETER';
  return `the search space has no parameter '${stranger}'${guess}`;
}

const expected = new WeakMap<Candidate, number>();

/**
 * Returns the expected execution time of one member of a joint candidate, relative to a member
 * without expectations in its space.
 */
export function expectedMemberTime(joint: JointSpace, { assignment }: Candidate, model: string): number {
  const index = joint.members.findIndex((member) => member.model === model);
  const member = joint.members[index];
  if (!member) return 1;
  const outcome = buildMember(member, byMember(joint, assignment)[index] as Assignment);
  if (!outcome.legal) return 1;
  const time = expected.get(outcome.candidate) ?? expectedTime(member.space, member.original, outcome.candidate);
  expected.set(outcome.candidate, time);
  return time;
}
