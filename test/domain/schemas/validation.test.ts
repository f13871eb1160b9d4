/** The issues of an invalid request: the `detail` of a 422. */
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { invalid, type Loc, malformedJson } from "../../../src/domain/schemas/validation.ts";
import { zodIssues } from "../../../src/domain/schemas/zod-issues.ts";
import { integerText, json, orNull, repeated, slug } from "../../../src/protocol/common.ts";

function issues(schema: z.ZodType, value: unknown, where: Loc[0] = "body") {
  const result = schema.safeParse(value);
  if (result.success) throw new Error("it is valid");
  return zodIssues(result.error, where, value);
}

const brief = (schema: z.ZodType, value: unknown, where?: Loc[0]) =>
  issues(schema, value, where).map(({ loc, type }) => `${loc.join(".")} ${type}`);

const object = z.object;

describe("the type of what zod finds", () => {
  test.each<[string, z.ZodType, unknown, string]>([
    ["absent", object({ a: z.string() }), {}, "body.a missing"],
    ["absent JSON", object({ a: json }), {}, "body.a missing"],
    ["absent enum", object({ a: z.enum(["x"]) }), {}, "body.a missing"],
    ["null", object({ a: z.string() }), { a: null }, "body.a string_type"],
    ["no text", object({ a: z.string() }), { a: 1 }, "body.a string_type"],
    ["no number", z.number(), "1", "body float_type"],
    ["an endless number", z.number(), Number.POSITIVE_INFINITY, "body finite_number"],
    ["no integer", z.int(), "1", "body int_type"],
    ["no integer, as a check", z.number().int().min(1), null, "body int_type"],
    ["a fraction", z.int(), 1.5, "body int_from_float"],
    ["no boolean", z.boolean(), "true", "body bool_type"],
    ["no list", z.array(z.int()), {}, "body list_type"],
    ["no object", object({}), [], "body dict_type"],
    ["no record", z.record(z.string(), json), 5, "body dict_type"],
    [
      "deep",
      object({ a: z.array(object({ b: z.int() })) }),
      { a: [{ b: 1 }, { b: "x" }] },
      "body.a.1.b int_type",
    ],
    ["short text", z.string().min(2), "x", "body string_too_short"],
    ["long text", z.string().max(2), "xxx", "body string_too_long"],
    ["short list", z.array(z.int()).min(1), [], "body too_short"],
    ["long list", z.array(z.int()).max(1), [1, 2], "body too_long"],
    ["small", z.number().min(5), 4, "body greater_than_equal"],
    ["not above", z.number().gt(5), 5, "body greater_than"],
    ["large", z.number().max(5), 6, "body less_than_equal"],
    ["not below", z.number().lt(5), 5, "body less_than"],
    ["not a multiple", z.number().multipleOf(5), 6, "body multiple_of"],
    ["enum", z.enum(["a", "b"]), "c", "body enum"],
    ["literal", z.literal("a"), "c", "body literal_error"],
    ["pattern", z.string().regex(/^a$/), "b", "body string_pattern_mismatch"],
    ["url", z.url(), "b", "body url_parsing"],
    [
      "url of another scheme",
      z.url({ protocol: /^https?$/ }),
      "ftp://a.example",
      "body url_parsing",
    ],
    ["uuid", z.uuid(), "b", "body uuid_parsing"],
    ["time", z.iso.datetime(), "yesterday", "body datetime_parsing"],
    ["other formats", z.email(), "b", "body value_error"],
    ["a rule", z.string().refine(() => false), "b", "body value_error"],
    ["a key", z.record(z.string().max(1), json), { ab: 1 }, "body.ab.[key] string_too_long"],
  ])("an issue of zod has its type: %s", (_, schema, value, expected) => {
    expect(brief(schema, value)).toEqual([expected]);
  });

  test("several issues are listed at once, with each unknown key among them", () => {
    const schema = z.strictObject({ a: z.string(), b: z.int().max(3) });
    expect(brief(schema, { b: 4, c: 1, d: 2 })).toEqual([
      "body.a missing",
      "body.b less_than_equal",
      "body.c extra_forbidden",
      "body.d extra_forbidden",
    ]);
  });

  test("a schema may say what to do about an unknown key", () => {
    const schema = z
      .strictObject({}, { error: ({ keys }) => (keys ? "Send it elsewhere" : undefined) })
      .partial();
    expect(issues(schema, { a: 1 })).toMatchObject([
      { loc: ["body", "a"], type: "extra_forbidden", msg: "Send it elsewhere" },
    ]);
    expect(issues(schema, [])).toMatchObject([{ msg: "Input should be an object" }]);
  });

  test("at most 20 issues are listed", () => {
    expect(issues(z.array(z.int()), Array(500).fill("x"))).toHaveLength(20);
    const unknown = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`k${n}`, n]));
    expect(issues(z.strictObject({}), unknown)).toHaveLength(20);
  });
});

describe("zod keeps the first 20 issues", () => {
  const wrong = Array<number>(1_000).fill(1);
  const byName = Object.fromEntries(wrong.map((one, n) => [`k${n}`, one]));

  const countOf = (found: z.core.$ZodIssue[] = []): number =>
    found.reduce((sum, issue) => {
      if (issue.code === "invalid_union") return sum + 1 + countOf(issue.errors.flat());
      return sum + 1 + (issue.code === "invalid_key" ? countOf(issue.issues) : 0);
    }, 0);

  test.each<[string, z.ZodType, unknown, number]>([
    ["a list", z.array(z.string()), wrong, 20],
    [
      "a list with a rule before its maximum",
      z.array(z.string()).refine(Boolean).max(5),
      wrong,
      20,
    ],
    ["lists of a list", z.array(z.array(z.string())), wrong.map(() => wrong.slice(0, 100)), 20],
    ["objects of a list", z.array(object({ a: z.int(), b: z.int() })), wrong.map(() => ({})), 20],
    ["a tuple", z.tuple([z.string()], z.string()), wrong, 20],
    ["a record", z.record(z.string(), z.string()), byName, 20],
    ["names of a record", z.record(z.string().min(9), json), byName, 40],
    ["further fields", object({ a: z.int() }).catchall(z.string()), byName, 20],
    ["alternatives", z.union([z.string(), z.array(z.string()), z.array(z.null())]), wrong, 42],
  ])("zod keeps the first issues of %s", (_, schema, value, expected) => {
    expect(countOf(schema.safeParse(value).error?.issues)).toBe(expected);
  });

  test("a rule is not applied to a list when only a dropped issue says that an item has the wrong type", () => {
    const rule = vi.fn(() => true);
    const schema = z.array(z.string().min(1)).refine(rule);
    expect(issues(schema, [...Array<string>(20).fill(""), 5])).toHaveLength(20);
    expect(rule).not.toHaveBeenCalled();
  });
});

describe("outside the body, where all is text", () => {
  const query = object({
    page_size: integerText(5, 50).default(25),
    ratio: z.coerce.number().optional(),
    flag: z.stringbool().optional(),
    list: repeated(z.enum(["a", "b"]), 2),
  });

  test.each<[object, string]>([
    [{ page_size: "x" }, "query.page_size int_parsing"],
    ...["", " 7", "0x10", "1e1", "7.0", "+7", "NaN"].map((page_size): [object, string] => [
      { page_size },
      "query.page_size int_parsing",
    ]),
    [{ page_size: ["5", "6"] }, "query.page_size int_type"],
    [{ page_size: "51" }, "query.page_size less_than_equal"],
    [{ page_size: "4" }, "query.page_size greater_than_equal"],
    [{ ratio: "x" }, "query.ratio float_parsing"],
    [{ flag: "maybe" }, "query.flag bool_parsing"],
    [{ list: "c" }, "query.list.0 enum"],
    [{ list: ["a", "b", "a"] }, "query.list too_long"],
    [{ list: ["a", "c"] }, "query.list.1 enum"],
  ])("a value outside the body has the issue of its text: %j", (value, expected) => {
    expect(brief(query, value, "query")).toEqual([expected]);
  });
});

describe("what helps to mend it", () => {
  test.each<[z.ZodType, unknown, object]>([
    [
      z.number().min(5),
      4,
      { msg: "Input should be greater than or equal to 5", ctx: { ge: 5 }, input: 4 },
    ],
    [z.number().max(50), 51, { ctx: { le: 50 } }],
    [z.number().gt(0), 0, { ctx: { gt: 0 } }],
    [z.number().lt(1), 1, { ctx: { lt: 1 } }],
    [
      z.string().max(2),
      "abc",
      { msg: "String should have at most 2 characters", ctx: { max_length: 2 } },
    ],
    [z.string().min(2), "", { ctx: { min_length: 2 }, input: "" }],
    [z.string().min(1), "", { msg: "String should have at least 1 character" }],
    [z.string().max(1), "ab", { msg: "String should have at most 1 character" }],
    [z.array(json).min(1), [], { msg: "List should have at least 1 item" }],
    [z.array(json).min(2), [], { msg: "List should have at least 2 items" }],
    [z.array(json).max(0), [1], { msg: "List should have at most 0 items" }],
    [z.array(json).max(1), [1, 2], { ctx: { field_type: "List", max_length: 1 }, input: [1, 2] }],
    [z.array(json).max(1), [1, 2], { msg: "List should have at most 1 item" }],
    [
      z.enum(["a", "b", "c"]),
      "d",
      { msg: "Input should be 'a', 'b' or 'c'", ctx: { expected: "'a', 'b' or 'c'" } },
    ],
    [z.literal("a"), "d", { ctx: { expected: "'a'" } }],
    [
      z.string().regex(/^a$/),
      "b",
      { msg: "String should match pattern '^a$'", ctx: { pattern: "^a$" } },
    ],
  ])("the issue of %o given %j has what helps to fix the value", (schema, value, expected) => {
    expect(issues(schema, value)).toMatchObject([expected]);
  });

  test("a schema's own message is kept", () => {
    expect(issues(slug, "Ä")).toMatchObject([
      {
        type: "string_pattern_mismatch",
        msg: "Use lower-case letters and digits, with '.', '_' or '-' between them",
      },
    ]);
    expect(
      issues(
        z.string().refine(() => false, "not today"),
        "a",
      ),
    ).toMatchObject([{ type: "value_error", msg: "not today" }]);
  });

  test("an issue about an absent value has no input", () => {
    expect(issues(object({ a: z.string() }), {})).toEqual([
      { type: "missing", loc: ["body", "a"], msg: "Field required" },
    ]);
  });
});

describe("what is repeated of the input", () => {
  const inputOf = (value: unknown) => issues(object({ a: z.boolean() }), { a: value })[0]?.input;

  test.each([["x".repeat(900)], [5], [null], [[1, "a", { b: null }]]])(
    "an issue repeats the small input %j",
    (value) => {
      expect(inputOf(value)).toEqual(value);
    },
  );

  test("an issue repeats no large value", () => {
    let deep: unknown = [];
    for (let n = 0; n < 100_000; n++) deep = [deep];
    for (const value of ["x".repeat(1_001), Array(1_000).fill(1), { a: "x".repeat(1_001) }, deep])
      expect(inputOf(value)).toBeUndefined();
  });

  test("an issue repeats no secret, wherever it is", () => {
    expect(inputOf({ webhook: { secret: "hunter2" } })).toBeUndefined();
    for (const name of ["secret", "access_token", "Password", "authorization", "variables"]) {
      const schema = object({ [name]: z.array(z.int()) });
      for (const value of ["hunter2", ["hunter2"]])
        expect(JSON.stringify(issues(schema, { [name]: value }))).not.toContain("hunter2");
    }
  });
});

describe("a union that nothing fits", () => {
  const text = object({ type: z.literal("text"), text: z.string() });
  const image = object({ type: z.literal("image"), url: z.url() });

  test.each<[string, z.ZodType, unknown, string[]]>([
    [
      "the branch whose type it has",
      z.union([z.string(), object({ a: z.int() })]),
      { a: "x" },
      ["body.a int_type"],
    ],
    [
      "the branch whose literal it has",
      z.union([text, image]),
      { type: "image", url: "x" },
      ["body.url url_parsing"],
    ],
    [
      "by its tag",
      z.discriminatedUnion("type", [text, image]),
      { type: "image" },
      ["body.url missing"],
    ],
    ["no tag", z.discriminatedUnion("type", [text, image]), {}, ["body.type missing"]],
    [
      "another tag",
      z.discriminatedUnion("type", [text, image]),
      { type: "x" },
      ["body.type union_tag_invalid"],
    ],
    ["or null", orNull(z.string().max(1)), "xx", ["body string_too_long"]],
    [
      "below",
      object({ a: z.union([text, z.null()]) }),
      { a: { type: "text" } },
      ["body.a.text missing"],
    ],
  ])("the issues of a union are those of the closest branch: %s", (_, schema, value, expected) => {
    expect(brief(schema, value)).toEqual(expected);
  });

  test("a value of none of a union's types has an issue that names all types", () => {
    expect(issues(z.union([z.string(), z.int()]), true)).toMatchObject([
      {
        type: "string_type",
        msg: "Input should be a valid string, or: Input should be a valid integer",
      },
    ]);
  });
});

describe("what no schema found", () => {
  test("an issue that no schema found has the same form", () => {
    expect(invalid(["query", "cursor"], "not a cursor").issues).toEqual([
      { loc: ["query", "cursor"], msg: "not a cursor", type: "value_error" },
    ]);
  });

  test("an issue about a body that is not JSON has the message of the parser", () => {
    let thrown: unknown;
    try {
      JSON.parse('{"a": 1,}');
    } catch (error) {
      thrown = error;
    }
    const [issue] = malformedJson(thrown).issues;
    expect(issue).toMatchObject({ loc: ["body"], type: "json_invalid" });
    expect(issue?.ctx?.error).toMatch(/position 8/);
  });
});
