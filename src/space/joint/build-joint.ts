import { canonicalJson } from '../../base/json.ts';
import { buildCandidate } from '../candidate.ts';
import { expectedTime } from '../expected-time.ts';
import { didYouMean } from '../nearest.ts';
import type { Assignment, Candidate, CandidateOutcome } from '../types.ts';
import { joinCandidates } from './join-candidates.ts';
import { byMember, type JointMember, type JointSpace, jointName, surroundingsOf } from './joint-space.ts';

/** Members' candidates that are kept: samplers build thousands of joint candidates from a few of each member's. */
const MOST_KNOWN = 10_000;
const known = new WeakMap<JointMember, Map<string, CandidateOutcome>>();

/**
 * The original with the assignment's values, or why that is no legal candidate. A parameter without a value keeps its model's own; the empty
 * assignment is always legal.
 */
export function buildJoint(joint: JointSpace, assignment: Assignment): CandidateOutcome {
  const stranger = strangerIn(joint, assignment);
  if (stranger !== null) return { legal: false, reason: stranger };
  const built: [string, Candidate][] = [];
  for (const [index, part] of byMember(joint, assignment).entries()) {
    const member = joint.members[index] as JointMember;
    const outcome = buildMember(member, part);
    if (!outcome.legal) return { legal: false, reason: `${member.model}: ${outcome.reason}` };
    built.push([member.model, outcome.candidate]);
  }
  return { legal: true, candidate: joinCandidates(built, surroundingsOf(joint), assignment) };
}

function buildMember(member: JointMember, part: Assignment): CandidateOutcome {
  const ofMember = known.get(member) ?? new Map<string, CandidateOutcome>();
  known.set(member, ofMember);
  const key = canonicalJson(part);
  const outcome = ofMember.get(key) ?? buildCandidate(member.space, member.original, part);
  if (ofMember.size < MOST_KNOWN) ofMember.set(key, outcome);
  return outcome;
}

/** Names a parameter that no member has; null where there is none. */
function strangerIn({ members }: JointSpace, assignment: Assignment): string | null {
  const models = new Set(members.map(({ model }) => model));
  const stranger = Object.keys(assignment).find((name) => !models.has(name.slice(0, Math.max(0, name.indexOf('/')))));
  if (stranger === undefined) return null;
  const all = members.flatMap(({ model, space }) => space.parameters.map(({ name }) => jointName(model, name)));
  const guess = didYouMean(stranger, all) || '; a parameter is named MODEL/PARAMETER';
  return `the search space has no parameter '${stranger}'${guess}`;
}

/** Returns the mean of the members' expected execution times, each relative to what its space expects nothing of. */
export function expectedJointTime(joint: JointSpace, { assignment }: Candidate): number {
  const parts = byMember(joint, assignment);
  const times = joint.members.map((member, index) => {
    const outcome = buildMember(member, parts[index] as Assignment);
    return outcome.legal ? expectedTime(member.space, member.original, outcome.candidate) : 1;
  });
  return times.reduce((sum, time) => sum + time, 0) / times.length;
}
