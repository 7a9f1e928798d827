//! The chunks and symbols of a small file of each language.

use std::fmt::Write;

use insta::assert_snapshot;

use super::*;

/// The symbols with their lines, and the summaries of chunks that are small enough to cut the file.
fn outline(language: &str, text: &str) -> String {
    let cut = check(language, text, Limits { bytes: 240, lines: 30, overlap: 2 });
    let mut found = String::new();
    for symbol in &cut.symbols {
        writeln!(
            found,
            "{} {} {}-{}",
            symbol.kind, symbol.name, symbol.line_start, symbol.line_end
        )
        .expect("a string takes all");
    }
    for chunk in &cut.chunks {
        let parent = chunk.parent_symbol.as_deref().unwrap_or("-");
        writeln!(
            found,
            "[{}-{} +{}] {parent} | {}",
            chunk.line_start, chunk.line_end, chunk.overlap_lines, chunk.summary
        )
        .expect("a string takes all");
    }
    found
}

#[test]
fn ruby() {
    let text = r"# Settings of the cart.
module CartSessions
  class Setting < ApplicationRecord
    DEFAULT_DELAY = 30

    # How long to wait before a reminder. Never zero.
    def trigger_delay_time_in_minutes
      delay || DEFAULT_DELAY
    end

    def self.current
      first
    end

    class << self
      def reset!
        delete_all
      end
    end

    private def delay = 5
  end
end

class CartSessions::Job
  def perform(id)
    [1].each { |x| x }
  end
end
";
    assert_snapshot!(outline("ruby", text), @r#"
    module CartSessions 2-23
    class CartSessions::Setting 3-22
    constant CartSessions::Setting::DEFAULT_DELAY 4-4
    method CartSessions::Setting#trigger_delay_time_in_minutes 7-9
    method CartSessions::Setting.current 11-13
    method CartSessions::Setting.reset! 16-18
    method CartSessions::Setting#delay 21-21
    class CartSessions::Job 25-29
    method CartSessions::Job#perform 26-28
    [1-10 +0] - | module CartSessions: Settings of the cart.
    [11-29 +0] - | def self.current
    "#);
}

#[test]
fn rust() {
    let text = r"//! A queue.

/// Holds jobs.
#[derive(Debug)]
pub struct Queue<T> {
    jobs: Vec<T>,
}

impl<T: Clone> Queue<T> {
    /// Adds a job. Wakes a worker.
    pub fn push(&mut self, job: T) {
        self.jobs.push(job);
    }
}

impl<T> Iterator for Queue<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.jobs.pop()
    }
}

pub trait Worker {
    fn run(&self);
}

mod tests {
    fn helper() {}
}

macro_rules! job {
    () => {};
}
";
    assert_snapshot!(outline("rust", text), @r#"
    struct Queue 5-7
    function Queue::push 11-13
    type Queue::Item 17-17
    function Queue::next 19-21
    trait Worker 24-26
    function Worker::run 25-25
    function helper 29-29
    macro job 32-34
    [1-15 +0] - | pub struct Queue<T>: Holds jobs.
    [16-34 +0] - | type Item = T;
    "#);
}

#[test]
fn python() {
    let text = r#""""Carts."""

class Cart:
    """A cart of one customer. It expires."""

    @property
    def total(self):
        """Sum of the items. In cents."""
        return sum(self.items)

    class Item:
        def price(self):
            return 1


def outer():
    def inner():
        return 2
    return inner


async def fetch(url):
    return url
"#;
    assert_snapshot!(outline("python", text), @r#"
    class Cart 3-13
    function Cart.total 7-9
    class Cart.Item 11-13
    function Cart.Item.price 12-13
    function outer 16-19
    function outer.inner 17-18
    function fetch 22-23
    [1-10 +0] - | class Cart: A cart of one customer.
    [11-23 +0] - | class Item
    "#);
}

#[test]
fn javascript() {
    let text = r"import x from 'x';

/** Adds two numbers. */
export function add(a, b) {
  return a + b;
}

export default class Cart {
  static of(items) {
    return new Cart(items);
  }

  handle = () => {
    return this.items;
  };

  #secret() {}
}

const total = (items) => items.length;

module.exports.clear = function () {};

Cart.prototype.add = function (item) {
  this.items.push(item);
};

const api = {
  list: () => [],
  get() {
    return 1;
  },
};
";
    assert_snapshot!(outline("javascript", text), @r#"
    function add 4-6
    class Cart 8-18
    method Cart.of 9-11
    method Cart.handle 13-15
    method Cart.#secret 17-17
    function total 20-20
    function clear 22-22
    function Cart.add 24-26
    method list 29-29
    method get 30-32
    [1-19 +0] - | export function add(a, b): Adds two numbers.
    [20-33 +0] - | const total = (items) => items.length;
    "#);
}

#[test]
fn typescript() {
    let text = r"export interface Store<T> {
  load(id: string): Promise<T>;
}

export type Id = string;

export enum Color {
  Red,
}

export abstract class Repo<T> implements Store<T> {
  abstract save(item: T): void;

  load = async (id: string): Promise<T> => {
    return fetchOne(id);
  };

  close(): void {}
}

namespace Util {
  export function pad(s: string): string {
    return s;
  }
}

export const make = <T,>(x: T) => x;
";
    assert_snapshot!(outline("typescript", text), @r#"
    interface Store 1-3
    method Store.load 2-2
    type Id 5-5
    enum Color 7-9
    class Repo 11-19
    method Repo.save 12-12
    method Repo.load 14-16
    method Repo.close 18-18
    namespace Util 21-25
    function Util.pad 22-24
    function make 27-27
    [1-13 +0] - | export interface Store<T>
    [14-27 +0] - | load = async (id: string): Promise<T> =>
    "#);
}

#[test]
fn tsx() {
    let text = r#"export const Button: React.FC<Props> = ({ label }) => {
  const click = () => {};
  return <button onClick={click}>{label}</button>;
};

export default function App() {
  return <Button label="a" />;
}
"#;
    assert_snapshot!(outline("tsx", text), @r#"
    function Button 1-4
    function Button.click 2-2
    function App 6-8
    [1-8 +0] - | export const Button: React.FC<Props> = ({ label }) =>
    "#);
}

#[test]
fn go() {
    let text = r"package cart

// Cart holds items.
type Cart[T any] struct {
	items []T
}

type Store interface {
	Load(id string) (*Cart[int], error)
}

// Add appends an item.
func (c *Cart[T]) Add(item T) {
	c.items = append(c.items, item)
}

func New() *Cart[int] {
	return &Cart[int]{}
}
";
    assert_snapshot!(outline("go", text), @r#"
    type Cart 4-6
    type Store 8-10
    method Store.Load 9-9
    method Cart.Add 13-15
    function New 17-19
    [1-16 +0] - | type Cart[T any] struct: Cart holds items.
    [17-19 +0] New | func New() *Cart[int]
    "#);
}

#[test]
fn java() {
    let text = r"package com.example;

/** A cart. */
public class Cart<T> implements Store {
    public Cart() {
    }

    /** Adds an item. */
    @Override
    public void add(T item) {
        items.add(item);
    }

    static class Item {
        int price() { return 1; }
    }

    enum Color {
        RED;

        int code() { return 0; }
    }

    record Point(int x, int y) {
        Point {
        }
    }
}

interface Store {
    void load();
}
";
    assert_snapshot!(outline("java", text), @r#"
    class Cart 4-28
    constructor Cart.Cart 5-6
    method Cart.add 9-12
    class Cart.Item 14-16
    method Cart.Item.price 15-15
    enum Cart.Color 18-22
    method Cart.Color.code 21-21
    record Cart.Point 24-27
    constructor Cart.Point.Point 25-26
    interface Store 30-32
    method Store.load 31-31
    [1-13 +0] - | public class Cart<T> implements Store: A cart.
    [14-32 +0] - | static class Item
    "#);
}

#[test]
fn c() {
    let text = r"#ifndef CART_H
#define CART_H

#define MAX(a, b) ((a) > (b) ? (a) : (b))

typedef struct cart {
    int items;
} cart_t;

enum color { RED };

int cart_add(struct cart *c, int item);

/* Frees a cart. */
static void *cart_free(struct cart *c)
{
    return 0;
}

#endif
";
    assert_snapshot!(outline("c", text), @r#"
    macro MAX 4-4
    type cart_t 6-8
    struct cart 6-8
    enum color 10-10
    function cart_add 12-12
    function cart_free 15-18
    [1-13 +0] - | #define MAX(a, b) ((a) > (b) ? (a) : (b))
    [14-20 +0] - | static void *cart_free(struct cart *c): Frees a cart.
    "#);
}

#[test]
fn cpp() {
    let text = r"#pragma once

namespace shop {

class Cart {
public:
    Cart();
    ~Cart();
    void add(const Item& item);
    int size() const { return 1; }
    bool operator==(const Cart& other) const;
};

void Cart::add(const Item& item) {
    items.push_back(item);
}

template <typename T>
T largest(const T& a, const T& b) {
    return a < b ? b : a;
}

}  // namespace shop

shop::Cart& global() {
    static shop::Cart cart;
    return cart;
}
";
    assert_snapshot!(outline("cpp", text), @r#"
    namespace shop 3-23
    class shop::Cart 5-12
    function shop::Cart::Cart 7-7
    function shop::Cart::~Cart 8-8
    function shop::Cart::add 9-9
    function shop::Cart::size 10-10
    function shop::Cart::operator== 11-11
    function shop::Cart::add 14-16
    function shop::largest 19-21
    function global 25-28
    [1-13 +0] - | namespace shop
    [14-24 +0] - | void Cart::add(const Item& item)
    [25-28 +0] global | shop::Cart& global()
    "#);
}

#[test]
fn csharp() {
    let text = r"namespace Shop;

public class Cart : ICart
{
    public int Total { get; set; }

    public Cart() { }

    public void Add(Item item)
    {
        Items.Add(item);
    }

    private class Item
    {
        int Price() => 1;
    }
}

public interface ICart
{
    void Add(Item item);
}

public enum Color { Red }
";
    assert_snapshot!(outline("csharp", text), @r#"
    class Cart 3-18
    property Cart.Total 5-5
    constructor Cart.Cart 7-7
    method Cart.Add 9-12
    class Cart.Item 14-17
    method Cart.Item.Price 16-16
    interface ICart 20-23
    method ICart.Add 22-22
    enum Color 25-25
    [1-19 +0] - | public class Cart : ICart
    [20-25 +0] - | public interface ICart
    "#);
}

#[test]
fn php() {
    let text = r"<?php

namespace App\Models;

final class Cart extends Model
{
    public function add(Item $item): void
    {
        $this->items[] = $item;
    }

    public static function current(): self
    {
        return new self();
    }
}

trait Billable
{
    public function charge() {}
}

function helper() {
    return 1;
}
";
    assert_snapshot!(outline("php", text), @r#"
    class App\Models\Cart 5-16
    method App\Models\Cart::add 7-10
    method App\Models\Cart::current 12-15
    trait App\Models\Billable 18-21
    method App\Models\Billable::charge 20-20
    function App\Models\helper 23-25
    [1-17 +0] - | final class Cart extends Model
    [18-25 +0] - | trait Billable
    "#);
}

#[test]
fn kotlin() {
    let text = r"package com.example

data class Cart(val items: List<Int>) {
    constructor() : this(emptyList())

    fun add(item: Int): Cart = Cart(items + item)

    companion object {
        fun empty() = Cart()
    }
}

object Registry {
    fun find(id: String): Cart? {
        return null
    }
}

interface Store {
    fun load()
}

fun String.shout() = uppercase()

typealias Id = String
";
    assert_snapshot!(outline("kotlin", text), @r#"
    class Cart 3-11
    constructor Cart.constructor 4-4
    function Cart.add 6-6
    object Cart.Companion 8-10
    function Cart.Companion.empty 9-9
    object Registry 13-17
    function Registry.find 14-16
    class Store 19-21
    function Store.load 20-20
    function shout 23-23
    type Id 25-25
    [1-12 +0] - | data class Cart(val items: List<Int>)
    [13-25 +0] - | object Registry
    "#);
}

#[test]
fn bash() {
    let text = r#"#!/usr/bin/env bash
set -euo pipefail

# Starts the server.
start() {
  exec server
}

function stop {
  kill "$1"
}
"#;
    assert_snapshot!(outline("bash", text), @r#"
    function start 5-7
    function stop 9-11
    [1-11 +0] - | start(): Starts the server.
    "#);
}
