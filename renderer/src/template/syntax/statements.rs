//! Statements of the parsed tree.

use minijinja::machinery::ast::{self, Spanned};

use super::{Reader, span};
use crate::template::program::{
    CallBlock, Capture, Expression, For, If, Import, Include, Kind, Macro, Parameter, Routine, SlotRef, Span,
    Statement, Target, Variable, With,
};

impl Reader<'_> {
    /// Gives slots to all names that these statements set in the frame they run in.
    pub(super) fn declare_all(&mut self, statements: &[ast::Stmt<'_>]) {
        for statement in statements {
            match statement {
                ast::Stmt::Set(set) => self.declare_target(&set.target),
                ast::Stmt::SetBlock(set) => {
                    self.declare_target(&set.target);
                    self.declare_all(&set.body);
                }
                ast::Stmt::FilterBlock(filter) => self.declare_all(&filter.body),
                ast::Stmt::IfCond(condition) => self.declare_branches(condition),
                ast::Stmt::ForLoop(node) => self.declare_all(&node.else_body),
                ast::Stmt::Macro(node) => {
                    self.names.declare(node.name);
                }
                ast::Stmt::Import(import) => self.declare_target(&import.name),
                ast::Stmt::FromImport(import) => {
                    for (name, alias) in &import.names {
                        self.declare_target(alias.as_ref().unwrap_or(name));
                    }
                }
                ast::Stmt::Template(_)
                | ast::Stmt::EmitExpr(_)
                | ast::Stmt::EmitRaw(_)
                | ast::Stmt::WithBlock(_)
                | ast::Stmt::AutoEscape(_)
                | ast::Stmt::Block(_)
                | ast::Stmt::Extends(_)
                | ast::Stmt::Include(_)
                | ast::Stmt::CallBlock(_)
                | ast::Stmt::Continue(_)
                | ast::Stmt::Break(_)
                | ast::Stmt::Do(_) => {}
            }
        }
    }

    /// A chain of `elif` is followed, not recursed into.
    fn declare_branches(&mut self, first: &ast::IfCond<'_>) {
        let mut condition = first;
        loop {
            self.declare_all(&condition.true_body);
            match condition.false_body.as_slice() {
                [ast::Stmt::IfCond(next)] => condition = next,
                otherwise => return self.declare_all(otherwise),
            }
        }
    }

    fn declare_target(&mut self, target: &ast::Expr<'_>) {
        match target {
            ast::Expr::Var(name) => {
                self.names.declare(name.id);
            }
            ast::Expr::List(list) => list.items.iter().for_each(|item| self.declare_target(item)),
            _ => {}
        }
    }

    pub(super) fn statements(&mut self, statements: &[ast::Stmt<'_>]) -> Vec<Statement> {
        statements.iter().filter_map(|statement| self.statement(statement)).collect()
    }

    fn statement(&mut self, statement: &ast::Stmt<'_>) -> Option<Statement> {
        Some(match statement {
            ast::Stmt::EmitRaw(raw) => Statement::Raw(self.raw(raw.raw)),
            ast::Stmt::EmitExpr(emit) => Statement::Emit(self.expression(&emit.expr)),
            ast::Stmt::IfCond(condition) => self.condition(condition),
            ast::Stmt::ForLoop(node) => self.for_loop(node),
            ast::Stmt::WithBlock(with) => self.with(with),
            ast::Stmt::Set(set) => {
                let value = self.expression(&set.expr);
                Statement::Set(self.target(&set.target), value)
            }
            ast::Stmt::SetBlock(set) => {
                let target = self.target(&set.target);
                self.capture(&set.body, set.filter.as_ref(), Some(target), span(set.span()))
            }
            ast::Stmt::FilterBlock(filter) => {
                self.capture(&filter.body, Some(&filter.filter), None, span(filter.span()))
            }
            ast::Stmt::Macro(node) => {
                let slot = self.names.declare(node.name);
                Statement::Macro(slot, self.macro_body(node))
            }
            ast::Stmt::CallBlock(block) => {
                let call = self.call(&block.call);
                let body = self.macro_body(&block.macro_decl);
                Statement::Call(Box::new(CallBlock { call, body }))
            }
            ast::Stmt::Import(import) => self.import(import),
            ast::Stmt::FromImport(import) => self.import_names(import),
            ast::Stmt::Include(include) => {
                // What is included sees the loop around it.
                self.names.resolve("loop");
                let template = self.expression(&include.name);
                Statement::Include(Box::new(Include { template, ignore_missing: include.ignore_missing }))
            }
            ast::Stmt::Do(node) => Statement::Do(self.call(&node.call)),
            ast::Stmt::Break(_) => Statement::Break,
            ast::Stmt::Continue(_) => Statement::Continue,
            ast::Stmt::AutoEscape(node) => {
                return self.refuse("autoescape", "nothing is ever escaped here; remove it", span(node.span()));
            }
            ast::Stmt::Block(node) => return self.refuse("block", INHERITANCE, span(node.span())),
            ast::Stmt::Extends(node) => return self.refuse("extends", INHERITANCE, span(node.span())),
            ast::Stmt::Template(_) => return None,
        })
    }

    fn refuse(&mut self, tag: &str, instead: &str, span: Span) -> Option<Statement> {
        let first_line =
            self.source.get(span.start as usize..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        let end = span.start.saturating_add(super::offset(tag.len().min(first_line.len())));
        let message = format!("`{tag}` is not available");
        self.problem("template-syntax", Span { end, ..span }, message, Some(instead.to_owned()));
        None
    }

    /// Where raw text lies in the source it was cut from.
    fn raw(&self, raw: &str) -> Span {
        let start = (raw.as_ptr() as usize).wrapping_sub(self.source.as_ptr() as usize);
        Span { start: super::offset(start), end: super::offset(start.wrapping_add(raw.len())) }
    }

    fn condition(&mut self, first: &ast::IfCond<'_>) -> Statement {
        let mut branches = Vec::new();
        let mut condition = first;
        loop {
            branches.push((self.expression(&condition.expr), self.statements(&condition.true_body)));
            match condition.false_body.as_slice() {
                [ast::Stmt::IfCond(next)] => condition = next,
                otherwise => {
                    let otherwise = self.statements(otherwise);
                    return Statement::If(Box::new(If { branches, otherwise }));
                }
            }
        }
    }

    fn for_loop(&mut self, node: &ast::ForLoop<'_>) -> Statement {
        let items = self.expression(&node.iter);
        let recursive = node.recursive.then(|| {
            self.loops.push(None);
            super::offset(self.loops.len() - 1)
        });
        let start = self.names.open_frame();
        self.declare_target(&node.target);
        let controls = self.names.declare("loop");
        self.declare_all(&node.body);
        let own = self.names.since(start);
        let target = self.target(&node.target);
        let filter = node.filter_expr.as_ref().map(|filter| self.expression(filter));
        let body = self.statements(&node.body);
        let all = self.names.since(start);
        let uses_controls = self.names.is_used(controls);
        self.names.close_frame();
        let otherwise = self.statements(&node.else_body);
        let two = matches!(&target, Target::Each(each, _) if each.len() == 2);
        let plain = filter.is_none() && !uses_controls && recursive.is_none();
        let pairs = two && plain && items.map_of_items().is_some();
        let node = For { target, items, pairs, filter, recursive, controls, uses_controls, body, otherwise, own, all };
        match recursive {
            Some(number) => {
                if let Some(location) = self.loops.get_mut(number as usize) {
                    *location = Some(node);
                }
                Statement::Recursive(number)
            }
            None => Statement::For(Box::new(node)),
        }
    }

    fn with(&mut self, node: &ast::WithBlock<'_>) -> Statement {
        let start = self.names.open_frame();
        // A value sees the names assigned before it, not its own.
        let mut assignments = Vec::with_capacity(node.assignments.len());
        for (target, value) in &node.assignments {
            let value = self.expression(value);
            self.declare_target(target);
            assignments.push((self.target(target), value));
        }
        self.declare_all(&node.body);
        let own = self.names.since(start);
        let body = self.statements(&node.body);
        self.names.close_frame();
        Statement::With(Box::new(With { assignments, body, own }))
    }

    fn capture(
        &mut self,
        body: &[ast::Stmt<'_>],
        filters: Option<&ast::Expr<'_>>,
        target: Option<Target>,
        span: Span,
    ) -> Statement {
        let slot = self.names.hidden();
        let body = self.statements(body);
        let start = filters.map_or(span, |filters| super::span(filters.span())).start;
        let captured = Expression { span: Span { start, end: start }, kind: Kind::Variable(own(slot)) };
        let result = match filters {
            Some(filters) => self.filters(filters, captured),
            None => captured,
        };
        Statement::Capture(Box::new(Capture { body, slot, result, target }))
    }

    pub(super) fn macro_body(&mut self, node: &Spanned<ast::Macro<'_>>) -> u32 {
        let number = self.macros.len();
        self.macros.push(None);
        self.names.open_routine();
        self.names.open_frame();
        let slots: Vec<(&str, u32, Span)> = node
            .args
            .iter()
            .filter_map(|parameter| match parameter {
                ast::Expr::Var(name) => Some((name.id, self.names.declare(name.id), span(name.span()))),
                _ => None,
            })
            .collect();
        let caller = self.names.declare("caller");
        self.declare_all(&node.body);
        let without = slots.len().saturating_sub(node.defaults.len());
        let mut parameters = Vec::with_capacity(slots.len());
        for (at, (name, slot, span)) in slots.into_iter().enumerate() {
            let default = at.checked_sub(without).and_then(|at| node.defaults.get(at));
            let default = default.map(|default| self.expression(default));
            parameters.push(Parameter { name: name.into(), span, slot, default });
        }
        let body = self.statements(&node.body);
        self.names.close_frame();
        let names = self.names.close_routine();
        let routine = Routine { body, names };
        if let Some(location) = self.macros.get_mut(number) {
            *location = Some(Macro { name: node.name.into(), parameters, caller, routine });
        }
        super::offset(number)
    }

    fn import(&mut self, node: &ast::Import<'_>) -> Statement {
        let template = self.expression(&node.expr);
        let whole = match &node.name {
            ast::Expr::Var(name) => Some(self.names.declare(name.id)),
            other => {
                self.problem("template-syntax", span(other.span()), "a name is expected after `as`".into(), None);
                None
            }
        };
        Statement::Import(Box::new(Import { template, whole, names: Vec::new() }))
    }

    fn import_names(&mut self, node: &ast::FromImport<'_>) -> Statement {
        let template = self.expression(&node.expr);
        let mut names = Vec::with_capacity(node.names.len());
        for (name, alias) in &node.names {
            if let (ast::Expr::Var(name), ast::Expr::Var(alias)) = (name, alias.as_ref().unwrap_or(name)) {
                names.push((name.id.into(), self.names.declare(alias.id), span(name.span())));
            }
        }
        Statement::Import(Box::new(Import { template, whole: None, names }))
    }

    fn target(&mut self, target: &ast::Expr<'_>) -> Target {
        match target {
            ast::Expr::Var(name) => Target::Slot(self.names.declare(name.id)),
            ast::Expr::List(list) => {
                let each = list.items.iter().map(|item| self.target(item)).collect();
                Target::Each(each, span(list.span()))
            }
            ast::Expr::GetAttr(attribute) => {
                let at = span(attribute.span());
                if let ast::Expr::Var(name) = &attribute.expr {
                    let start = span(name.span()).start;
                    let variable = self.names.resolve(name.id);
                    return Target::Member(variable, attribute.name.into(), Span { start, ..at });
                }
                self.bad_target(at)
            }
            other => self.bad_target(span(other.span())),
        }
    }

    fn bad_target(&mut self, span: Span) -> Target {
        let message = "only a name or a key of a namespace can be set".to_owned();
        self.problem("template-syntax", span, message, None);
        Target::Each(Vec::new(), span)
    }
}

const INHERITANCE: &str =
    "templates do not inherit here; write a macro in a `_*.j2` file and call it, or include a template";

fn own(slot: u32) -> Variable {
    Variable { name: "".into(), places: Box::new([SlotRef { level: 0, slot }]) }
}
