/** CSV lines as spreadsheets read them. */
import { expect, test } from "vitest";
import { csvLine } from "../../src/lib/text.ts";

test.each([
  [["day", 0, 1.5, -2], "day,0,1.5,-2"],
  [["a, b", 'says "c"', "two\r\nlines"], '"a, b","says ""c""","two\r\nlines"'],
  [["=1+1", "+1", "-1", "@sum", "\tx"], `'=1+1,'+1,'-1,'@sum,"'\tx"`],
  [["\ufeff=1+1", "\n=1", "a;=1"], `'\ufeff=1+1,"'\n=1","a;=1"`],
  [['=cmd|"/c calc"!A1, x'], `"'=cmd|""/c calc""!A1, x"`],
  [["ünïcode", ""], "ünïcode,"],
])("the cells %j become one CSV line", (cells, line) => expect(csvLine(cells)).toBe(`${line}\r\n`));
