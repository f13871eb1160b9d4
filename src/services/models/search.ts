/** Searching models and users: what matches as it is typed, and where that is little, what is near. */
import { hasFullAccess } from "../../domain/accounts/access.ts";
import {
  accessExpression,
  canBeMisspelt,
  matchExpression,
  nearWords,
  parseQuery,
  type Query,
  similarWordsExpression,
  TIERS,
  tierOf,
} from "../../domain/search.ts";
import type { FoundModel } from "../../protocol/model.ts";
import type { User } from "../../protocol/user.ts";
import type { Database } from "../../storage/database.ts";
import type { Keyset } from "../../storage/keyset.ts";
import {
  countMatches,
  findWords,
  type Index,
  searchModels as modelsMatching,
  searchUsers as usersMatching,
} from "../../storage/models/search.ts";
import type { Caller } from "../accounts/caller.ts";
import { type List, type Page, type PageRequest, paginate } from "../pagination.ts";
import type { Services } from "../services.ts";

/** Where more than this match as typed, words that are spelt otherwise are not looked for. */
const ENOUGH = 50;

/**
 * Public and restricted models, and the caller's own: not those of a token for some models, to whom
 * the index would have to tell private ones apart.
 */
export function searchModels(
  services: Services,
  caller: Caller | undefined,
  q: string,
  request: PageRequest,
): Promise<Page<FoundModel>> {
  const ownerId = caller && hasFullAccess(caller) ? caller.user_id : undefined;
  const search = {
    query: parseQuery(q),
    index: "models_words" as const,
    access: accessExpression(ownerId),
    userId: ownerId,
    find: modelsMatching,
  };
  return paginate(services, request, {
    name: JSON.stringify(["search models", q, ownerId ?? "-"]),
    ...ranked(services.db, search),
    present: services.present.foundModel,
  });
}

export function searchUsers(
  services: Services,
  q: string,
  request: PageRequest,
): Promise<Page<User>> {
  const search = {
    query: parseQuery(q),
    index: "users_words" as const,
    access: undefined,
    userId: undefined,
    find: usersMatching,
  };
  return paginate(services, request, {
    name: JSON.stringify(["search users", q]),
    ...ranked(services.db, search),
    present: services.present.user,
  });
}

interface Search<Row> {
  /** Undefined: nothing to look for. */
  query: Query | undefined;
  index: Index;
  access: string | undefined;
  /** Whose own words count, beside everybody's. */
  userId: string | undefined;
  find(db: Database, expressions: string[], keyset: Keyset): Promise<Row[]>;
}

interface Ranked {
  rank: number;
  /** 1: after what matches as typed the list goes on to what is near, else 0. */
  goesOn: number;
}

/** Whether a list goes on is decided with its first page and travels in its cursors: it stays one list. */
function ranked<Row extends { rank: number }>(
  db: Database,
  { query, index, access, userId, find }: Search<Row>,
): Pick<List<Row & Ranked, never>, "find" | "keyOf"> {
  return {
    find: async (keyset) => {
      if (!query) return [];
      const [rank, decided] = keyset.from?.key.map(Number) ?? [];
      // Backwards nothing beyond the tier of the cursor is wanted.
      const lastTier = keyset.back && rank !== undefined ? tierOf(rank) : Number.POSITIVE_INFINITY;
      const typed = matchExpression(query, { access, lastTier });
      const [goesOn, alternatives] = await Promise.all([
        decided ?? isLittle(db, index, typed),
        decided !== 0 && lastTier >= TIERS ? alternativesOf(db, query, userId) : [],
      ]);
      const expressions = [typed];
      if (goesOn && alternatives.some((words) => words.length > 0))
        expressions.push(
          matchExpression(query, { alternatives, access, lastTier: lastTier - TIERS }),
        );
      const rows = await find(db, expressions, keyset);
      return rows
        .map((row) => ({ ...row, goesOn }))
        .sort((a, b) => (keyset.back ? b.rank - a.rank : a.rank - b.rank));
    },
    keyOf: ({ rank, goesOn }) => [rank, goesOn],
  };
}

const isLittle = async (db: Database, index: Index, typed: string) =>
  (await countMatches(db, index, typed, ENOUGH + 1)) <= ENOUGH ? 1 : 0;

/** For each word those that it may be a misspelling of. */
async function alternativesOf(
  db: Database,
  { words }: Query,
  userId: string | undefined,
): Promise<string[][]> {
  const asked = words.filter(canBeMisspelt);
  const known = await findWords(db, asked.map(similarWordsExpression), userId);
  return words.map((word) => nearWords(word, known[asked.indexOf(word)] ?? []));
}
