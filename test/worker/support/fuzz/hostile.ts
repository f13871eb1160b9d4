/** Hostile texts and values that have broken other services. */
import fc from "fast-check";

/** Stands for arrays in arrays, deeper than a call stack: inserted when the body is written. */
const NESTED = "arrays in arrays";

/** Stands for a text that is larger than a row of D1 may be (2 MB): inserted when the body is sent. */
const LARGE = "a text of 3 MB";

const TEXTS = [
  ...["", " ", "\t\r\n", "\0", "a\0b", "\ud800", "\udc00x", "\ufeff", "\u202etxt", "e\u0301", "ﷺ"],
  ...[
    "🐙",
    "👩‍👩‍👧‍👦",
    "🐙".repeat(64),
    "ſtory",
    "STORY",
    "İ",
    "١٢٣",
    "x".repeat(64),
    "x".repeat(5_000),
  ],
  ...["'", '"', "`", "\\", "'; DROP TABLE models; --", "' OR 1=1 --", "x' UNION SELECT 1, 2 --"],
  ...[
    "%",
    "_",
    "*",
    "a*",
    "^a",
    "a^",
    '"a',
    "NEAR(a b)",
    "a AND",
    "OR",
    "NOT a",
    "name:a",
    "{a b}:c",
  ],
  ...["(", ")", "-", "+", "a b c d e f g h i j k l m n o p q r s t u v w x y z", "?1", ":a", "$a"],
  ...[
    "null",
    "undefined",
    "NaN",
    "true",
    "[]",
    "{}",
    "[object Object]",
    '{"a":',
    "1e999",
    "-0",
    "0x1f",
  ],
  ...["9".repeat(30), "1.5", " 5", "5 ", "+5", "1_000", "-1", "0"],
  ...[
    "<script>alert(1)</script>",
    "&lt;",
    "javascript:alert(1)",
    `\${7*7}`,
    "{{7*7}}",
    "#",
    "?",
    "&=;",
  ],
  ...[
    ".",
    "..",
    "../..",
    "../../etc/passwd",
    "..\\..",
    "%2e%2e%2f",
    "%00",
    "%E0%A4%A",
    "%ED%A0%80",
    "%25",
  ],
  ...[
    "a/b",
    "a/b:1",
    "a/b/c",
    "//",
    "__proto__",
    "constructor",
    "prototype",
    "toString",
    "wait=soon",
    "wait=-1",
  ],
];

export const hostileText = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 4, arbitrary: fc.string({ unit: "binary", maxLength: 60 }) },
  { weight: 1, arbitrary: fc.constantFrom(LARGE, NESTED) },
);

/** Objects with own keys, as JSON.parse makes them: a literal would set the prototype by the first one. */
const KEYS: unknown[] = [
  JSON.parse('{"__proto__": {"admin": true}}'),
  JSON.parse('{"constructor": {"prototype": {"admin": true}}}'),
  JSON.parse('{"toJSON": 1, "length": -1, "then": 1, "": 1, "\\u0000": 1, "a.b[0]": 1}'),
];

/** Any JSON value. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: hostileText },
  { weight: 4, arbitrary: fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], [{}]) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(0, -1, 1.5, 2 ** 31, 2 ** 53, 2 ** 64, 1e308, 5e-324, -1e21),
  },
  { weight: 2, arbitrary: fc.constantFrom(...KEYS) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3, stringUnit: "binary" }) },
);

const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
const nested = deep(20_000);
const large = JSON.stringify("x".repeat(3_000_000));

/** Returns the JSON of a value, with the placeholders replaced. */
export const textOf = (value: unknown): string =>
  JSON.stringify(value)
    .replaceAll(JSON.stringify(NESTED), nested)
    .replaceAll(JSON.stringify(LARGE), large);
