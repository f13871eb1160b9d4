// Fills in the arguments of a function. This model does not understand tools, so a rule picks words and
// numbers from the question where the function's schema wants some. It is deterministic, so that flows
// with tools can be tried end to end.

import { plain, tokenize } from "./ngrams.mjs";

/** The depth limit for recursive schemas. */
const DEPTH = 8;

/** The call for a question: the function whose name and description share most words with it. */
export function callFor(functions, messages) {
  const question = messages.findLast(({ role }) => role === "user")?.text ?? "";
  const words = tokenize(question).filter((word) => /[\p{L}\p{N}]/u.test(word));
  const asked = new Set(words.map(plain));
  const shared = ({ name, description = "" }) =>
    `${name.replaceAll("_", " ")} ${description}`.split(/[^\p{L}\p{N}]+/u).filter((word) => {
      return asked.has(word.toLowerCase());
    }).length;
  const [best] = functions.toSorted((one, other) => shared(other) - shared(one));
  const filled = fill(best.parameters ?? {}, question, DEPTH);
  return { name: best.name, arguments: JSON.stringify(filled) };
}

function fill(schema, question, depth) {
  if (schema.const !== undefined) return schema.const;
  const said = (option) => question.toLowerCase().includes(String(option).toLowerCase());
  if (Array.isArray(schema.enum)) return schema.enum.find(said) ?? schema.enum[0];
  const [first] = schema.anyOf ?? schema.oneOf ?? [];
  if (first && depth > 0) return fill(first, question, depth - 1);
  const [number = "0"] = question.match(/-?\d+(?:\.\d+)?/) ?? [];
  const { minimum = -Infinity, maximum = Infinity } = schema;
  const within = (value) => Math.min(maximum, Math.max(minimum, value));
  switch ([schema.type ?? "object"].flat()[0]) {
    case "string":
      return nameIn(question).slice(0, schema.maxLength);
    case "integer":
      return within(Math.round(Number(number)));
    case "number":
      return within(Number(number));
    case "boolean":
      return !/\b(?:no|not|never|without)\b/i.test(question);
    case "null":
      return null;
    case "array":
      return depth > 0 && schema.items ? [fill(schema.items, question, depth - 1)] : [];
    default: {
      const parts = depth > 0 ? Object.entries(schema.properties ?? {}) : [];
      return Object.fromEntries(
        parts.map(([name, part]) => [name, fill(part ?? {}, question, depth - 1)]),
      );
    }
  }
}

/** Returns the first name that does not start the question (`in San Francisco?`), or its longest word. */
function nameIn(question) {
  const names = question.match(/(?<!^|[.!?]\s)\p{Lu}[\p{L}\p{N}]*(?:\s\p{Lu}[\p{L}\p{N}]*)*/gu);
  if (names) return names[0];
  const words = question.match(/[\p{L}\p{N}]+/gu) ?? [""];
  return words.reduce((longest, word) => (word.length > longest.length ? word : longest));
}
