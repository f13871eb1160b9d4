/** Search for models and users: exact and prefix matches, then similar spellings if there are few. */
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
import type { UserRow } from "../../storage/accounts/users.ts";
import type { Database } from "../../storage/database.ts";
import type { Keyset } from "../../storage/keyset.ts";
import {
  countMatches,
  findWords,
  type Index,
  listSharingOwners,
  searchModels as modelsMatching,
  searchUsers as usersMatching,
} from "../../storage/models/search.ts";
import type { Caller } from "../access/access.ts";
import { type List, type Page, type PageRequest, paginate } from "../pagination.ts";
import type { Services } from "../services.ts";
import { publicReads } from "./public-reads.ts";

/** The number of matches above which similar spellings are not added. */
const ENOUGH = 50;

/**
 * The most other accounts whose private models are searched: the caller's organizations, and owners of shared
 * models.
 */
const MAX_OWNERS = 50;

/**
 * Finds public and restricted models, and the private ones that the caller may see. A token limited to some
 * models finds no private ones, since the index cannot tell them apart.
 */
export async function searchModels(
  services: Services,
  caller: Caller | undefined,
  q: string,
  request: PageRequest,
): Promise<Page<FoundModel>> {
  const { db, hidden } = await publicReads(services, caller);
  const ownerId = caller && hasFullAccess(caller) ? caller.user_id : undefined;
  const others = ownerId === undefined ? [] : await listSharingOwners(db, ownerId, MAX_OWNERS);
  // The index cannot tell which private models of another owner the caller may see.
  const viewerId = others.length > 0 ? ownerId : undefined;
  const search = {
    query: parseQuery(q),
    index: "models_words" as const,
    access: accessExpression(ownerId === undefined ? [] : [ownerId, ...others]),
    userId: ownerId,
    find: (db: Database, expressions: string[], keyset: Keyset) =>
      modelsMatching(db, expressions, keyset, { hidden, viewerId }),
  };
  return paginate(services, request, {
    name: JSON.stringify(["search models", q, ownerId ?? "-"]),
    ...ranked(db, search),
    present: services.present.foundModel,
  });
}

export const searchUsers = (
  services: Services,
  q: string,
  request: PageRequest,
): Promise<Page<User>> => searchUserRows(services, q, request, services.present.user);

export function searchUserRows<Item>(
  services: Services,
  q: string,
  request: PageRequest,
  present: (row: UserRow) => Item,
): Promise<Page<Item>> {
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
    present,
  });
}

interface Search<Row> {
  /** The parsed query. Undefined: no words to search for. */
  query: Query | undefined;
  index: Index;
  access: string | undefined;
  /** The user whose private words are suggested besides public ones. */
  userId: string | undefined;
  find(db: Database, expressions: string[], keyset: Keyset): Promise<Row[]>;
}

interface Ranked {
  rank: number;
  /** 1 if similar spellings follow the matches, else 0. */
  similar: number;
}

/**
 * Ranks matches. The first page decides whether similar spellings follow, and cursors keep that: the list
 * stays consistent.
 */
function ranked<Row extends { rank: number }>(
  db: Database,
  { query, index, access, userId, find }: Search<Row>,
): Pick<List<Row & Ranked, never>, "find" | "keyOf"> {
  return {
    find: async (keyset) => {
      if (!query) return [];
      const [rank, decided] = keyset.from?.key.map(Number) ?? [];
      // A backward page needs no tiers after that of its cursor.
      const lastTier = keyset.back && rank !== undefined ? tierOf(rank) : Number.POSITIVE_INFINITY;
      const typed = matchExpression(query, { access, lastTier });
      const [similar, alternatives] = await Promise.all([
        decided ?? hasFewMatches(db, index, typed),
        decided !== 0 && lastTier >= TIERS ? alternativesOf(db, query, userId) : [],
      ]);
      const expressions = [typed];
      if (similar && alternatives.some((words) => words.length > 0))
        expressions.push(
          matchExpression(query, { alternatives, access, lastTier: lastTier - TIERS }),
        );
      const rows = await find(db, expressions, keyset);
      return rows
        .map((row) => ({ ...row, similar }))
        .sort((a, b) => (keyset.back ? b.rank - a.rank : a.rank - b.rank));
    },
    keyOf: ({ rank, similar }) => [rank, similar],
  };
}

const hasFewMatches = async (db: Database, index: Index, typed: string) =>
  (await countMatches(db, index, typed, ENOUGH + 1)) <= ENOUGH ? 1 : 0;

/** Returns for each word the known words that it may be a misspelling of. */
async function alternativesOf(
  db: Database,
  { words }: Query,
  userId: string | undefined,
): Promise<string[][]> {
  const asked = words.filter(canBeMisspelt);
  const known = await findWords(db, asked.map(similarWordsExpression), userId);
  return words.map((word) => nearWords(word, known[asked.indexOf(word)] ?? []));
}
