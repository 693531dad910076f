/**
 * A check that is independent of any set that the verifier was tuned on: a random value, written in two random notations
 * and put into a random response, must be right; another value must be wrong. The notations are written from the value,
 * never read back.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verify } from './verifier.ts';

/** A rational number top / bottom > 0 in lowest terms. */
interface Value {
  top: number;
  bottom: number;
}

const gcd = (a: number, b: number): number => (b === 0 ? Math.abs(a) : gcd(b, a % b));
const reduced = (top: number, bottom: number): Value => {
  const common = gcd(top, bottom);
  return { top: top / common, bottom: bottom / common };
};
const thousands = (n: number, mark: string): string => `${n}`.replace(/\B(?=(\d{3})+(?!\d))/g, mark);
const signed = ({ top }: Value, body: string): string => (top < 0 ? `-${body}` : body);
/** Decimals end if the denominator has no other factors than 2 and 5; these have at most three digits. */
const ends = ({ bottom }: Value) => 1000 % bottom === 0;

const plain = ({ top, bottom }: Value): string => (bottom === 1 ? `${top}` : `${top}/${bottom}`);

type Notation = (value: Value, k: number) => string | null;
const NOTATIONS: Record<string, Notation> = {
  plain,
  'not in lowest terms': (v, k) => `${v.top * k}/${v.bottom * k}`,
  frac: (v) => signed(v, `\\frac{${Math.abs(v.top)}}{${v.bottom}}`),
  'frac, sign inside': (v) => `\\dfrac{${v.top}}{${v.bottom}}`,
  'frac, spaces': (v) => `\\tfrac { ${v.top} } { ${v.bottom} }`,
  decimal: (v) => (ends(v) ? `${v.top / v.bottom}` : null),
  'decimal, zeros': (v) => (ends(v) ? (v.top / v.bottom).toFixed(3 + (v.bottom % 3)) : null),
  mixed: (v) => {
    const [size, whole] = [Math.abs(v.top), Math.floor(Math.abs(v.top) / v.bottom)];
    return v.bottom > 1 && whole > 0 ? signed(v, `${whole} ${size % v.bottom}/${v.bottom}`) : null;
  },
  'mixed frac': (v) => {
    const [size, whole] = [Math.abs(v.top), Math.floor(Math.abs(v.top) / v.bottom)];
    return v.bottom > 1 && whole > 0 ? signed(v, `${whole}\\frac{${size % v.bottom}}{${v.bottom}}`) : null;
  },
  thousands: (v) => (v.bottom === 1 ? signed(v, thousands(Math.abs(v.top), ',')) : null),
  'TeX thousands': (v) => (v.bottom === 1 ? signed(v, thousands(Math.abs(v.top), '{,}')) : null),
  'thin spaces': (v) => (v.bottom === 1 ? signed(v, thousands(Math.abs(v.top), ',\\!')) : null),
  'power of ten': (v) => (v.bottom === 1 ? `${v.top}0 \\times 10^{-1}` : null),
  exponent: (v, k) => (v.bottom === 1 ? `${v.top}${'0'.repeat(k)}e-${k}` : null),
  'full width': (v) =>
    v.bottom === 1
      ? signed(
          v,
          `${Math.abs(v.top)}`.replace(/\d/g, (d) => String.fromCharCode(0xff10 + Number(d))),
        )
      : null,
};

const DRESSES: ((text: string) => string)[] = [
  (text) => text,
  (text) => `$${text}$`,
  (text) => `\\(${text}\\)`,
  (text) => `**${text}**`,
  (text) => `x = ${text}`,
  (text) => `  ${text}  `,
  (text) => text.replace('-', '−'),
  (text) => `${text} dollars`,
  (text) => `${text}\\text{ meters}`,
  (text) => `${text}^\\circ`,
  (text) => `${text}\\%`,
];

const OTHER = '<Parallel><Path>\\boxed{1}</Path><Path>Answer: 2</Path></Parallel><Summary>3</Summary>';
const RESPONSES: ((answer: string) => string)[] = [
  (answer) => `Final Answer: ${answer}`,
  (answer) => `First this, then that.\nfinal answer: ${answer}\n`,
  (answer) => `**Answer:** ${answer}`,
  (answer) => `4 + 4 = 8\n#### ${answer}`,
  (answer) => `so we get $\\boxed{${answer}}$.`,
  (answer) => `${OTHER}\nFinal Answer: ${answer}`,
  (answer) => `Answer: ${answer}\n${'And this is why it is so. '.repeat(20)}`,
  (answer) => `Answer: ${answer}\nTo say it again:\nFinal Answer: ${answer}`,
  (answer) => `Answer: ${answer}.\n\nIt may be checked.`,
];

const value = fc
  .tuple(
    fc.oneof(fc.integer({ min: -60, max: 60 }), fc.integer({ min: -9_999_999, max: 9_999_999 })),
    fc.oneof(fc.constant(1), fc.constantFrom(2, 4, 5, 8, 10, 25), fc.integer({ min: 1, max: 99 })),
  )
  .map(([top, bottom]) => reduced(top, bottom));
const written = fc.record({
  notation: fc.constantFrom(...Object.keys(NOTATIONS)),
  dress: fc.nat(DRESSES.length - 1),
  k: fc.integer({ min: 2, max: 9 }),
});

function write(v: Value, { notation, dress, k }: { notation: string; dress: number; k: number }): string {
  return DRESSES[dress](NOTATIONS[notation](v, k) ?? plain(v));
}

test('a value in two notations is right, whatever the response around it', () => {
  fc.assert(
    fc.property(value, written, written, fc.nat(RESPONSES.length - 1), (v, one, other, form) => {
      const [response, gold] = [RESPONSES[form](write(v, one)), write(v, other)];
      expect(verify(response, gold), `${response} against ${gold}`).toMatchObject({ correct: true });
    }),
    { numRuns: 1000 },
  );
});

/** What a careless normaliser or a lucky slip would make of a value. */
const CHANGES: ((v: Value) => Value)[] = [
  ({ top, bottom }) => reduced(top + bottom, bottom),
  ({ top, bottom }) => reduced(top + 1, bottom),
  ({ top, bottom }) => reduced(-top, bottom),
  ({ top, bottom }) => reduced(top * 10, bottom),
  ({ top, bottom }) => reduced(top, bottom * 10),
  ({ top, bottom }) => reduced(top * 100, bottom),
  ({ top, bottom }) => (top === 0 ? { top: 1, bottom: 1 } : reduced(Math.sign(top) * bottom, Math.abs(top))),
  ({ top }) => ({ top, bottom: 1 }),
  ({ top, bottom }) => ({ top: Number(`${top}${bottom}`), bottom: 1 }),
  ({ top, bottom }) => ({ top: Math.trunc(top / bottom), bottom: 1 }),
];

test('a changed value is wrong, whatever its notation', () => {
  fc.assert(
    fc.property(
      value,
      fc.nat(CHANGES.length - 1),
      written,
      written,
      fc.nat(RESPONSES.length - 1),
      (v, change, one, other, form) => {
        const changed = CHANGES[change](v);
        fc.pre(changed.top !== v.top || changed.bottom !== v.bottom);
        const [response, gold] = [RESPONSES[form](write(changed, one)), write(v, other)];
        expect(verify(response, gold), `${response} against ${gold}`).toMatchObject({
          correct: false,
          reason: 'different',
        });
      },
    ),
    { numRuns: 1000 },
  );
});

test('a right and a wrong answer together are wrong, in any order', () => {
  fc.assert(
    fc.property(value, written, written, fc.boolean(), (v, one, other, first) => {
      const right = `Answer: ${write(v, one)}`;
      const wrong = `Answer: ${write(CHANGES[0](v), other)}`;
      const response = first ? `${right}\n${wrong}` : `${wrong}\n${right}`;
      expect(verify(response, write(v, { notation: 'plain', dress: 0, k: 2 }))).toMatchObject({
        correct: false,
        reason: 'several_answers',
      });
    }),
    { numRuns: 200 },
  );
});

test('tuples, lists and surds: the same parts are right, another order or part is wrong', () => {
  const parts = fc.array(fc.tuple(value, written), { minLength: 2, maxLength: 4 });
  // Marks of thousands and lists don't go together, nor a name in front of a part.
  const part = ([v, how]: [Value, { notation: string; dress: number; k: number }]) =>
    write(v, { ...how, notation: /thousands|thin/.test(how.notation) ? 'plain' : how.notation, dress: 0 });
  const simple = ([v]: [Value, unknown]) => plain(v);
  fc.assert(
    fc.property(parts, (list) => {
      const values = list.map(([v]) => `${v.top}/${v.bottom}`);
      const tuple = `(${list.map(simple).join(', ')})`;
      const turned = [...list].reverse();
      expect(verify(`Answer: \\left(${list.map(part).join(',')}\\right)`, tuple).correct, tuple).toBe(true);
      const same = [...values].reverse().join() === values.join();
      expect(verify(`Answer: (${turned.map(part).join(',')})`, tuple).correct, tuple).toBe(same);
      expect(
        verify(`Answer: \\{${turned.map(part).join(',')}\\}`, `\\{${list.map(simple).join(',')}\\}`).correct,
      ).toBe(true);
      const other = [[CHANGES[0](list[0][0]), list[0][1]] as const, ...list.slice(1)];
      expect(verify(`Answer: (${other.map(([v, how]) => part([v, how])).join(',')})`, tuple).correct).toBe(
        false,
      );
      // k√2 + m in two ways, and one more
      const [k, m] = [list[0][0], list[1][0]];
      fc.pre(k.top !== 0);
      const gold = `${simple(list[1])} + \\frac{${k.top}\\sqrt{2}}{${k.bottom}}`;
      expect(
        verify(`Answer: \\frac{${k.top}}{${k.bottom}}\\sqrt{2} + \\frac{${m.top}}{${m.bottom}}`, gold)
          .correct,
        gold,
      ).toBe(true);
      expect(
        verify(`Answer: \\frac{${2 * k.top}}{${k.bottom}\\sqrt2} + \\frac{${m.top}}{${m.bottom}}`, gold)
          .correct,
        gold,
      ).toBe(true);
      expect(
        verify(`Answer: \\frac{${k.top}}{${k.bottom}}\\sqrt{3} + \\frac{${m.top}}{${m.bottom}}`, gold)
          .correct,
        gold,
      ).toBe(false);
    }),
    { numRuns: 150 },
  );
});
